"""Facts about the blocks of a description that several renderers use."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.warnings import InexactExportWarning, alert
from sunrise.data.levels import is_number
from sunrise.export.description import Description
from sunrise.export.refusals import refuse_columns
from sunrise.forms.quadratic import Quadratic as QuadraticForm
from sunrise.forms.quadratic import log_student
from sunrise.numerics.special import log_sum_exp

#: Probabilities closer than this to those of prior and offsets belong to a row that says nothing.
SILENT = 1e-13
#: Squares about a common centre may be this large before a sum of them loses digits.
_LARGEST_SQUARE = 1e4
#: The smallest whole number whose successor is no double.
_FIRST_INEXACT = 2.0**53


class Student(NamedTuple):
    """A multivariate Student-t per class: base - power log(1 + |factor z - shift|^2) of standardised cells z."""

    base: Floats
    power: Floats
    #: Classes x columns x columns, lower triangles.
    factor: Floats
    shift: Floats


def student_of(block: Description, names: list[str], target: str) -> Student:
    """Return the numbers that score complete rows; warn if the fitted rows had missing cells.

    SQL and ONNX cannot compute the marginal density of the other cells, so they score these rows without the block.
    """
    if not block["complete"]:
        shown = ", ".join(repr(names[j]) for j in block["columns"][:3])
        alert(
            f"The columns {shown}{', ...' if len(block['columns']) > 3 else ''} are scored together, and some fitted "
            f"rows have missing cells there. {target} scores rows with missing cells without this block, so their "
            'probabilities differ from predict_proba. Use to_json(), or fit with interactions="pairs".',
            InexactExportWarning,
        )
    freedom, n = block["freedom"], len(block["columns"])
    form = QuadraticForm(block["mean"], block["scatter"], freedom)
    base = log_student(np.zeros(len(freedom)), form.factors.log_determinant, freedom, n)
    factor = form.factors.inverse / np.sqrt(freedom)[:, None, None]
    shift = np.einsum("cjk,ck->cj", factor, block["mean"])
    return Student(base, 0.5 * (freedom + n), factor, shift)


class Quadratic(NamedTuple):
    """A linear block about one centre for all classes: base + x (v - centre) + x2 (v - centre)^2, all finite."""

    centre: Floats
    base: Floats
    x: Floats
    x2: Floats


def about_centre(block: Description) -> Quadratic | None:
    """Return a linear block about the mean of its anchors; None if weights are infinite or squares lose digits."""
    shape = next(block[name].shape for name in ("base", "x", "x2") if name in block)
    base, x, x2, anchor = (block.get(name, np.zeros(shape)) for name in ("base", "x", "x2", "anchor"))
    if not all(np.isfinite(part).all() for part in (base, x, x2)):
        return None
    centre = anchor.mean(axis=0)
    shift = centre - anchor
    if (np.abs(x2) * shift * shift).sum(axis=1).max(initial=0.0) > _LARGEST_SQUARE:
        return None
    return Quadratic(centre, base + shift * (x + x2 * shift), x + 2.0 * x2 * shift, x2)


def level_keys(levels: list[str], kind: str) -> list[float] | None:
    """Return the levels as numbers if the column holds numbers or booleans; None if they are compared as text.

    Whole numbers from 2^53 on are text: a double cannot distinguish them.
    """
    if kind == "bool" and set(levels) <= {"True", "False"}:
        return [float(level == "True") for level in levels]
    if kind == "number" and all(map(is_number, levels)):
        keys = [float(level) for level in levels]
        return keys if max(map(abs, keys), default=0.0) < _FIRST_INEXACT else None
    return None


def labels_of_one_type(classes: list[Any]) -> list[Any]:
    """Return the class labels as they are if they have one type, as floats if all are numbers, otherwise as text.

    >>> labels_of_one_type([1, 2.5]), labels_of_one_type([1, "a"])
    ([1.0, 2.5], ['1', 'a'])
    """
    types = set(map(type, classes))
    is_small = all(type(label) is not int or -(2**63) <= label < 2**63 for label in classes)
    if len(types) == 1 and is_small:
        return classes
    if types == {int, float} and [float(label) for label in classes] == classes:
        return [float(label) for label in classes]
    texts = [str(label) for label in classes]
    for c, text in enumerate(texts):
        if text in texts[:c]:
            same = classes[texts.index(text)]
            raise ValueError(
                f"the classes {same!r} and {classes[c]!r} cannot be exported: labels of several types are written as "
                "text, and both become the same text. Rename one of them before fit."
            )
    return texts


def refuse_unseen(description: Description, export: str) -> None:
    """Raise for columns in which an unseen level is an error: an export cannot raise."""
    names = [column["name"] for column in description["columns"]]
    refused = [names[b["columns"][0]] for b in description["blocks"] if b.get("refuse_unseen")]
    if refused:
        refuse_columns(
            refused,
            export,
            'unseen="error" raises for a level that did not occur in fit, and this export cannot raise',
            'Fit with unseen="reserve" or unseen="ignore".',
        )


def log_softmax(scores: Floats) -> Floats:
    """Return the log-probabilities of classes with these scores."""
    return np.asarray(scores - log_sum_exp(np.asarray(scores)))
