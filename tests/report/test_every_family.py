"""The whole page of every family: fields, axes, points and pictures, without an error and without broken numbers."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import sunrise as sr
from export.engines import plain
from export.test_families import ESTIMATES, FAMILIES, fit

#: Tell what no person should read.
BROKEN = re.compile(r"\b(NaN|undefined|null|Infinity|\[object)\b")


@pytest.mark.parametrize(
    "name, estimate",
    [(name, "mean") for name in FAMILIES]
    + [(name, "mle") for name, own in ESTIMATES.items() if "mle" in own],
)
def test_a_row_is_set_value_by_value(open_page, name, estimate):
    model, X = fit(name, FAMILIES[name], estimate, calibrate=None)
    page = open_page(model)
    rows = plain(X).to_dict("records")[2:8]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba(X)[2:8]
    for row, p in zip(rows, expected, strict=True):
        for column, value in row.items():
            page.evaluate("([column, value]) => sunrise.set(column, value)", [column, value])
        found = page.evaluate("sunrise.nomogram.result.p")
        assert found == pytest.approx(p.tolist(), abs=1e-6)
    for target, against in ((0, 1), (2, -1), (-1, 0), (1, 2)):
        page.get_by_label("Points for").select_option(str(target))
        page.get_by_label("against").select_option(str(against))
    assert not BROKEN.search(page.locator("main").inner_text())
    assert not BROKEN.search(page.locator("main").inner_html())
    page.get_by_role("button", name="Clear all").click()
    found = page.evaluate("sunrise.nomogram.result.p")
    assert found == pytest.approx(model.class_prior_.tolist(), abs=1e-12)
    assert page.locator("#columns .chart").count() == 3


def test_labels_are_written_as_python_writes_them(open_page):
    model = sr.NaiveBayes(calibrate=None).fit({"x": np.arange(8.0)}, [True, False] * 4)
    page = open_page(model)
    assert page.locator(".prob .label").all_inner_texts() == ["False", "True"]


Y = np.array([0, 1] * 10)
NOISE = np.random.default_rng(0).normal(size=20)
NAN = float("nan")
ODD = {
    "a column of missing cells": lambda: sr.NaiveBayes({"a": "poisson"}).fit(
        {"a": [NAN] * 20, "b": NOISE}, Y
    ),
    "a class of missing cells": lambda: sr.NaiveBayes({"a": "kernel"}).fit(
        {"a": [1.0, NAN] * 10, "b": NOISE}, Y
    ),
    "equal cells": lambda: sr.GaussianNB().fit(np.ones((20, 2)), Y),
    "no variance": lambda: sr.GaussianNB(var_smoothing=0.0).fit(np.c_[Y, NOISE], Y),
    "large numbers": lambda: sr.NaiveBayes("gaussian").fit({"a": 1e150 * NOISE}, Y),
    "small numbers": lambda: sr.NaiveBayes("gaussian").fit({"a": 1e-150 * NOISE}, Y),
    "a class without rows": lambda: sr.NaiveBayes("gaussian").partial_fit({"a": NOISE}, Y, classes=[0, 1, 2]),
    "no column": lambda: sr.NaiveBayes().fit({"a": [1, 1, 1, 1]}, [0, 1, 0, 1]),
    "no word": lambda: sr.TextNB().fit(["", "  "], ["a", "b"]),
    "one row": lambda: sr.NaiveBayes().fit({"a": [1.0]}, ["x"]),
    "a prior of 0": lambda: sr.GaussianNB(priors=[0.0, 1.0]).fit(np.c_[NOISE, NOISE], Y),
    "faded rows": lambda: sr.NaiveBayes("gaussian").fit({"a": NOISE}, Y).decay(1e-9),
    "wide": lambda: sr.NaiveBayes({"a": "lognormal"}).fit({"a": np.exp(40 * NOISE)}, Y),
    "1,500 classes": lambda: sr.NaiveBayes("gaussian").fit({"a": np.arange(3000.0)}, np.arange(3000) % 1500),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_models_have_a_page(open_page, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ODD[name]()
    page = open_page(model)
    page.evaluate(
        """() => {
            const { nomogram, model } = sunrise;
            for (const j of nomogram.order)
                for (const end of nomogram.facts.ranges[j] || [0, 1])
                    nomogram.set(j, model.blockOf[j].kind === "text" ? "hello world" : end);
        }"""
    )
    assert not BROKEN.search(page.locator("main").inner_text())
    assert not BROKEN.search(page.locator("main").inner_html())
    assert sum(page.evaluate("sunrise.nomogram.result.p")) == pytest.approx(1.0)
