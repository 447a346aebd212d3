"""The one exception that reading a model file raises."""

from __future__ import annotations

__all__ = ["ModelFileError"]


class ModelFileError(ValueError):
    """Raised when a model file is truncated, damaged, made by a newer version, or not a model file at all."""
