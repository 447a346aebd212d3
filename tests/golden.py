"""Write the golden model files of this version of the format: python tests/golden.py

Files of earlier versions are never written again: they stay as they are, and every later version has to read them.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import model_zoo
import numpy as np
from sunrise.store.state import VERSION

FOLDER = Path(__file__).resolve().parent / "data" / "models"


def first_rows(rows, n: int = 9):
    """The first rows of a table, as JSON can hold them."""
    if isinstance(rows, dict):
        return {name: column[:n] for name, column in rows.items()}
    if isinstance(rows, list):
        return rows[:n]
    dense = (rows.toarray() if hasattr(rows, "toarray") else rows)[:n]
    return [[None if np.isnan(cell) else cell for cell in row] for row in dense.tolist()]


def as_rows(rows):
    """Rows as a model takes them."""
    if isinstance(rows, list) and isinstance(rows[0], list):
        return np.array([[np.nan if cell is None else cell for cell in row] for row in rows])
    return rows


def main() -> None:
    """Write one file for every kind of model, and their predictions."""
    folder = FOLDER / str(VERSION)
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, build in model_zoo.one_of_each().items():
        model, rows = build()
        model.save(folder / f"{name}.sunrise")
        some = first_rows(rows)
        expected[name] = {"rows": some, "probabilities": model.predict_proba(as_rows(some)).tolist()}
    (folder / "expected.json").write_text(json.dumps(expected, indent=None, sort_keys=True) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
