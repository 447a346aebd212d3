"""The description of a model as JSON text."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from sunrise.export.description import Description


def to_json(description: Description) -> str:
    """Return the description as JSON; infinite numbers become the strings "inf" and "-inf"."""
    return json.dumps(_plain(description), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            return [_plain(own) for own in value.tolist()] if value.ndim else _plain(value.item())
        return value.tolist()
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value
