"""Model files of a command: loaded with a hint if the path is wrong, saved beside the data."""

from __future__ import annotations

import os
from typing import Any

from sunrise.data.errors import closest, listed


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
    inputs = set(schema.inputs)  # a part of a date is not a column of the data
    types = {
        str(name): "text"
        for name, choice in zip(schema.names, schema.choices, strict=True)
        if choice.kind == "level" and choice.family is not None and name in inputs
    }
    if schema.label is not None and model.classes_.dtype.kind in "UO":
        types[str(schema.label)] = "text"
    return types


def reads_tables(model: Any) -> bool:
    """True unless the model was fitted to plain text: then a text file is a list of documents."""
    return type(model).__name__ != "TextNB" and list(model._model.schema.names) != ["text"]


def columns_for(
    model: Any, names: tuple[str, ...], label: str | None = None, all_columns: bool = False
) -> list[str]:
    """Return the columns of the data that a model reads: those that it uses, or all that it was fitted to.

    A model of a matrix reads all columns in their order, a model of texts reads the column `text` or the only column.
    """
    schema, others = model._model.schema, [name for name in names if name != label]
    if schema.is_named:
        own = schema.names if all_columns else schema.used
        wanted = {*own, *schema.inputs_of(own)}
        return [name for name in others if name in wanted]
    if type(model).__name__ == "TextNB":
        return ["text"] if "text" in others else others[:1]
    return others


def cells_of(model: Any, table: Any) -> Any:
    """Return the rows of an Arrow table as the model takes them."""
    if model._model.schema.is_named:
        return table
    if type(model).__name__ == "TextNB":
        return table.column(0).to_pylist()
    import numpy as np

    return np.column_stack([column.to_numpy() for column in table.columns])


def labels_in(table: Any, label: str) -> Any:
    """Return the labels of an Arrow table as an array."""
    import numpy as np

    cells = table[label].to_pylist()
    missing = next((row for row, cell in enumerate(cells) if cell is None), None)
    if missing is not None:
        raise ValueError(
            f"column {label!r} has no label in row {missing + 1:,} of a batch. Complete it, or pass --skip-bad-rows."
        )
    return np.array(cells, dtype=object if isinstance(cells[0], str) else None)


def class_named(model: Any, text: str | None, option: str) -> Any:
    """Return the class whose label is written like this; None for None."""
    if text is None:
        return None
    for label in model.classes_.tolist():
        if str(label) == text:
            return label
    known = [str(label) for label in model.classes_.tolist()]
    similar = closest(text, known)
    hint = f"Do you mean {similar!r}? " if similar else ""
    raise ValueError(f"{option}: there is no class {text!r}. {hint}The classes are {listed(known, 20)}.")


def label_of(model: Any, given: str | None) -> str:
    """Return the name of the label column: given by the user, or that of the training table."""
    label = model._model.schema.label
    if given is None and label is None:
        raise ValueError("The model does not know the name of its label column. Pass --target.")
    return str(label) if given is None else given
