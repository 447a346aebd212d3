"""Model files of a command: loaded with a hint if the path is wrong, saved beside the data."""

from __future__ import annotations

import os
from typing import Any

from sunrise.data.errors import closest


def load_model(path: str) -> Any:
    """Load a model file; the error for another kind of file says what to pass."""
    from sunrise.estimators.saving import load
    from sunrise.store.errors import ModelFileError

    require_file(path)
    try:
        return load(path)
    except ModelFileError as error:
        raise ValueError(f"{path}: {error}") from None


def require_file(path: str) -> None:
    """Raise if there is no file of this name, with a similar name."""
    if os.path.isdir(path):
        raise ValueError(f"{path}: this is a folder. Pass a model file (.sunrise).")
    if not os.path.exists(path):
        folder = os.path.dirname(path)
        names = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        similar = closest(os.path.basename(path), [name for name in names if name.endswith(".sunrise")])
        hint = f"Do you mean {os.path.join(folder, similar)!r}?" if similar else "Make one with: sunrise fit"
        raise ValueError(f"{path}: there is no such model file. {hint}")


def types_of(model: Any) -> dict[str, str]:
    """Return the columns that must be read as text, because the model knows their cells as names."""
    schema = model._model.schema
    types = {
        str(name): "text"
        for name, choice in zip(schema.names, schema.choices, strict=True)
        if choice.kind == "level" and choice.family is not None
    }
    if schema.label is not None and model.classes_.dtype.kind in "UO":
        types[str(schema.label)] = "text"
    return types


def label_of(model: Any, given: str | None) -> str:
    """Return the name of the label column: given by the user, or that of the training table."""
    label = model._model.schema.label
    if given is None and label is None:
        raise ValueError("The model does not know the name of its label column. Pass --target.")
    return str(label) if given is None else given
