"""A table is read once: every column one time for choosing families, fitting, calibration and EM."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sunrise.data import column, frame

RNG = np.random.default_rng(3)
N = 120
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "count": RNG.poisson(2.0, N),
        "yes": RNG.random(N) < 0.5,
        "kind": RNG.choice(["red", "green", "blue"], N),
        "note": [" ".join(RNG.choice(["alpha", "beta", "gamma", "delta"], 12)) + str(k) for k in range(N)],
        "label": RNG.choice(["a", "b"], N),
    }
)
TABLE.loc[3, "size"] = np.nan


@pytest.fixture
def reads(monkeypatch):
    """How often each column is read from the table, and how often it is encoded or its words are counted."""
    counts = Counter()

    def counted(name, function, key):
        def call(*arguments):
            counts[name, key(arguments)] += getattr(arguments[0], "known", None) is None
            return function(*arguments)

        return call

    monkeypatch.setattr(frame, "pandas_column", counted("read", frame.pandas_column, lambda a: a[0]))
    monkeypatch.setattr(
        column.Column, "_encode", counted("encoded", column.Column._encode, lambda a: a[0].name)
    )
    monkeypatch.setattr(
        column.Column, "_count_words", counted("words", column.Column._count_words, lambda a: a[0].name)
    )
    return counts


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"families": "auto-fast"},
        {"calibrate": "columns"},
        {"calibrate": "temperature"},
        {"unlabelled": "em"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
def test_fit_reads_every_column_once(reads, settings):
    table = TABLE.copy()
    if "unlabelled" in settings:
        table.loc[table.index[40:], "label"] = None
    sr.NaiveBayes(**settings).fit(table, "label")
    names = [name for name in TABLE.columns if name != "label"]
    assert {name: reads["read", name] for name in names} == dict.fromkeys(names, 1)
    assert reads["encoded", "kind"] == 1
    if "unlabelled" not in settings:  # EM counts the words of labelled documents by a vocabulary of their own
        assert reads["words", "note"] == 1


def test_a_column_that_is_left_out_is_not_read(reads):
    sr.NaiveBayes({"note": None}).fit(TABLE, "label")
    assert reads["read", "note"] == 0


def test_one_nan_among_strings_is_as_missing_as_none():
    words = RNG.choice(np.array(["red", "green", "blue"], dtype=object), N)
    with_nan, with_none = words.copy(), words.copy()
    with_nan[[5, 9]], with_none[[5, 9]] = np.nan, None
    one, two = (sr.NaiveBayes().fit({"kind": cells}, TABLE["label"]) for cells in (with_nan, with_none))
    np.testing.assert_array_equal(one.predict_proba({"kind": words}), two.predict_proba({"kind": words}))
    assert one.check({"kind": with_nan}) == {"kind": {"missing": 2, "unseen": 0, "impossible": 0}}
