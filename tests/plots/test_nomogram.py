"""Nomograms: the points of a row add up to its log-odds, and the published example can be read off the scales."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import matplotlib
import model_zoo
import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sunrise.plots import NomogramDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

MODELS = model_zoo.one_of_each()
EXAMPLES = json.loads((Path(__file__).parents[1] / "data" / "worked_examples.json").read_text())


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def spam():
    parameters = {
        "shipping": ("bernoulli", {"yes": [0.4, 0.8]}),
        "perceptron": ("bernoulli", {"yes": [0.1, 0.01]}),
    }
    return sr.NaiveBayes.from_parameters(parameters, classes=["not-spam", "spam"], class_prior=[0.25, 0.75])


def ticks_of(display, k):
    """Places and labels of scale k of a drawing."""
    lines = display.ax_.collections[k].get_segments()
    return [line[0, 0] for line in lines]


def test_the_spam_example_of_the_notes_can_be_read_off():
    example = next(e for e in EXAMPLES if e["id"] == "cornell-activity-all-inputs")
    display = NomogramDisplay.from_estimator(spam(), of="spam", scale="log-odds")
    scales = {scale.name: scale for scale in display.scales}
    for (shipping, perceptron), (_, p) in zip(
        example["data"]["X"], example["expected"]["posterior"]["fraction"], strict=True
    ):
        values = {"shipping": ["no", "yes"][shipping], "perceptron": ["no", "yes"][perceptron]}
        total = sum(scales[name].at(value) for name, value in values.items())
        assert display.probability(total) == pytest.approx(float(Fraction(p)), rel=1e-12)
    # Two ticks of a scale are as far apart as its weight in the linear form, and the prior is 3 to 1.
    for k, name in enumerate(["perceptron", "shipping"], start=1):
        no, yes = ticks_of(display, k)
        weight = example["expected"]["w"]["float"][["shipping", "perceptron"].index(name)]
        assert yes - no == pytest.approx(weight)
    assert display.intercept == pytest.approx(np.log(3.0))


def test_a_marked_row_has_its_probability_and_dots_at_its_evidence():
    display = NomogramDisplay.from_estimator(spam(), of="spam", row={"shipping": True, "perceptron": True})
    assert "P = 0.375" in [text.get_text() for text in display.ax_.texts]
    dots = [line for line in display.ax_.lines if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots[:2]] == pytest.approx([np.log(0.1), np.log(2.0)])
    # The scale of the total and that of the probability agree: 0.375 lies between the labels 0.3 and 0.4.
    place = dots[-1].get_xdata()[0]
    labels = {text.get_text(): text.get_position() for text in display.ax_.texts}
    assert labels["0.3"][0] < place < labels["0.4"][0]
    assert dots[-2].get_xdata()[0] == place


def test_points_are_log_odds_times_a_constant_and_the_strongest_evidence_has_100():
    points, odds = (
        NomogramDisplay.from_estimator(spam(), of="spam", scale=scale) for scale in ("points", "log-odds")
    )
    strongest = max(np.abs(scale.evidence).max() for scale in points.scales)
    assert points.points_per_unit * strongest == pytest.approx(100.0) and odds.points_per_unit == 1.0
    assert "-100" in [text.get_text() for text in points.ax_.texts]
    np.testing.assert_array_equal(points.scales[0].evidence, odds.scales[0].evidence)


@pytest.mark.filterwarnings("ignore")  # small models have reasons to warn
@pytest.mark.parametrize("kind", [kind for kind in MODELS if not kind.startswith("TextNB")])
def test_scales_of_every_model_have_the_evidence_of_explanations(kind):
    model, rows = MODELS[kind]()
    if kind.lower().startswith("dirichlet") or kind == "correlated":
        with pytest.raises(ValueError, match="No column of the model has a scale"):
            NomogramDisplay.from_estimator(model)
        return
    first, second = model.classes_[:2].tolist()
    display = NomogramDisplay.from_estimator(model, of=second, against=first, top=None)
    display.figure_.canvas.draw()
    why = model.explain(rows)
    evidence = why.contributions[:, 1] - why.contributions[:, 0]
    if any(part.family.joint for part in model._model.parts) and "sparse" not in kind:
        # A missing count changes the weights of the other counts.
        evidence[[any(cell is None or cell != cell for cell in row) for row in why.values]] = 0.0
    checked = 0
    for scale in display.scales:
        if scale.is_text:
            continue
        j = why.columns.index(scale.column)
        block = next(k for k, part in enumerate(model._model.parts) if j in part.columns)
        if block in model._model.row_exponents:
            continue  # the evidence depends on the length of the row: the scale is that of mean length
        for value, own in zip(why.values[:, j], evidence[:, j], strict=True):
            if value is None or value != value or (own == 0 and scale.span > 0):
                continue
            if scale.is_numeric:
                if scale.values[0] <= value <= scale.values[-1]:
                    # A number between two points of the scale is at most one step away.
                    near = np.abs(np.diff(scale.evidence)).max(initial=0.0)
                    assert abs(scale.at(value) - own) <= near + 1e-9
                    checked += 1
            elif scale.values in (["no", "yes"], ["up to 0", "above 0"]):
                assert scale.evidence[int(value)] == pytest.approx(own, abs=1e-9)
                checked += 1
            elif (f"{value:g}" if isinstance(value, float) else str(value)) in map(str, scale.values):
                assert scale.at(value) == pytest.approx(own, abs=1e-9)
                checked += 1
    assert checked > 0 or kind in ("binned", "multinomial", "complement", "odds")


def test_the_marked_row_of_a_calibrated_model_has_the_probability_of_predict_proba():
    heart = sr.datasets.load_heart_disease("pandas").frame
    model = sr.NaiveBayes().fit(heart, "disease")
    for row in range(5):
        display = NomogramDisplay.from_estimator(model, of="yes", row=heart.iloc[[row]], top=3)
        p = model.predict_proba(heart.iloc[[row]])[0, 1]
        assert display.probability(sum(display.row.values())) == pytest.approx(p, rel=1e-10)
    assert display.n_more == 10 and "10 shorter scales not shown" in display.ax_.get_title(loc="left")
    spans = [scale.span for scale in display.scales]
    assert spans == sorted(spans, reverse=True)


def test_evidence_that_rises_and_falls_is_a_curve():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(0, 1, 300), rng.normal(0, 3, 300))
    model = sr.NaiveBayes("gaussian", calibrate=None).fit({"x": x}, np.repeat(["a", "b"], 300))
    display = NomogramDisplay.from_estimator(model, row={"x": 2.0})
    scale = display.scales[0]
    assert not scale.is_monotone and scale.evidence[0] > scale.evidence[100] < scale.evidence[-1]
    curve = next(line for line in display.ax_.lines if len(line.get_xdata()) == len(scale.values))
    np.testing.assert_array_equal(curve.get_xdata(), scale.evidence)
    assert np.all(np.diff(curve.get_ydata()) < 0)  # upwards by value
    dot = next(line for line in display.ax_.lines if line.get_marker() == "o" and line.get_markersize() > 5)
    assert curve.get_ydata()[-1] < dot.get_ydata()[0] < curve.get_ydata()[0]


def test_counts_of_a_row_of_mean_length_have_their_evidence():
    rng = np.random.default_rng(5)
    y = np.arange(300) % 2
    X = rng.multinomial(20, [0.5, 0.3, 0.2], 300) + np.outer(y, [0, 4, 0])
    X = {name: X[:, j] for j, name in enumerate("abc")}
    model = sr.NaiveBayes({("a", "b", "c"): "multinomial"}).fit(X, y)
    assert model.calibration_.exponents["a", "b", "c"] != 0
    display = NomogramDisplay.from_estimator(model)
    rows = {"a": [11], "b": [7], "c": [4]}  # 22 items: the mean
    evidence = model.explain(rows).contributions[0]
    for j, name in enumerate("abc"):
        scale = next(scale for scale in display.scales if scale.column == name)
        assert scale.at(rows[name][0]) == pytest.approx(evidence[1, j] - evidence[0, j], rel=0.02)


def test_words_have_the_evidence_of_one_occurrence():
    texts = ["free prize now", "call now free", "see you lunch", "lunch noon then"]
    model = sr.TextNB("multinomial", calibrate=None).fit(texts, ["spam", "spam", "ham", "ham"])
    display = NomogramDisplay.from_estimator(model, of="spam")
    scale = display.scales[0]
    # A document has any number of words, so the scale of probabilities is a whole one.
    assert {"0.001", "0.999"} <= {text.get_text() for text in display.ax_.texts}
    expected = {e.word: e.evidence for e in model.words("spam", top=99, against="ham")}
    expected |= {e.word: e.evidence for e in model.words("spam", top=99, against="ham", speaking="against")}
    assert len(scale.values) == 8
    assert [expected[word] for word in scale.values] == scale.evidence.tolist()


def test_choice_of_classes_and_errors():
    rng = np.random.default_rng(1)
    y = np.array(list("abc"))[rng.integers(0, 3, 90)]
    model = sr.NaiveBayes("gaussian", calibrate=None).fit({"x": rng.normal(size=90) + (y == "c")}, y)
    display = NomogramDisplay.from_estimator(model, of="c", against="b")
    assert (display.of, display.against) == ("c", "b")
    default = NomogramDisplay.from_estimator(model)
    assert (default.of, default.against) == ("b", "a")
    assert NomogramDisplay.from_estimator(model, against="b").of == "a"
    p = model.predict_proba({"x": [None]})[0]
    assert display.probability(0.0) == pytest.approx(p[2] / (p[1] + p[2]))
    for arguments, message in [
        ({"of": "a", "against": "a"}, "Pass two different classes"),
        ({"scale": "bits"}, "scale is 'bits'"),
        ({"top": 0}, "top is 0"),
        ({"row": {"x": [1.0, 2.0]}}, "row has 2 rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            NomogramDisplay.from_estimator(model, **arguments)
    with pytest.raises(ValueError, match="one class"):
        NomogramDisplay.from_estimator(sr.NaiveBayes().fit({"x": [1, 0]}, ["a", "a"]))


def test_a_nomogram_of_many_columns_is_quick():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 3000)), np.arange(60) % 2
    display = NomogramDisplay.from_estimator(sr.NaiveBayes("gaussian", calibrate=None).fit(X, y))
    assert len(display.scales) == 12 and display.n_more == 2988


def test_bins_have_the_evidence_of_the_numbers_in_them():
    x = np.random.default_rng(3).normal(size=200)
    model = sr.NaiveBayes("binned", calibrate=None).fit({"x": x}, (x + np.sin(9 * x) > 0).astype(int))
    scale = NomogramDisplay.from_estimator(model).scales[0]
    why = model.explain({"x": x})
    evidence = why.contributions[:, 1, 0] - why.contributions[:, 0, 0]
    np.testing.assert_allclose(np.unique(evidence.round(9)), np.unique(scale.evidence.round(9)))


def test_interactions_have_scales_too():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 400))
    X = pd.DataFrame({"a": np.where(a, "x", "z"), "b": np.where(b, "u", "v"), "c": rng.normal(size=400)})
    y = np.where(rng.random(400) < 0.2, 1 - (a ^ b), a ^ b)
    model = sr.NaiveBayes(interactions=[("a", "b")]).fit(X, y)
    for row in range(4):
        display = NomogramDisplay.from_estimator(model, row=X.iloc[[row]])
        p = model.predict_proba(X.iloc[[row]])[0, 1]
        assert display.probability(sum(display.row.values())) == pytest.approx(p, rel=1e-9)
        scale = next(scale for scale in display.scales if "a" in scale.name and "b" in scale.name)
        together = f"{X['a'][row]} and {X['b'][row]}"
        assert scale.at(together) == pytest.approx(display.row[scale.name])
    shown = sr.plots.DensityDisplay.from_estimator(model, X, y)
    assert [panel.name for panel in shown.panels] == ["a", "b", "c"]
