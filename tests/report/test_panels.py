"""The panels of the page: quality, costs, columns with pictures, and their absence; phones, print and accessibility."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sunrise as sr
from sunrise.datasets import load_heart_disease, load_mammographic
from sunrise.report.facts import model_facts
from sunrise.report.pictures import pictures
from sunrise.report.ranges import column_ranges

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def heart():
    return sr.NaiveBayes().fit(load_heart_disease("pandas").frame, "disease")


def numbers_of(text):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text.replace("\u2212", "-"))]


def test_the_scores_are_those_of_the_model(open_page, heart):
    page = open_page(heart)
    score, quality = heart.loo_score_, heart.quality_
    shown = {
        row.locator("th").inner_text(): numbers_of(row.locator("td").first.inner_text())[0]
        for row in page.locator("#quality table").first.locator("tbody tr").all()
    }
    assert shown["Accuracy"] == pytest.approx(100 * score.accuracy, abs=0.051)
    assert shown["Log loss"] == pytest.approx(score.log_loss, rel=6e-3)
    assert shown["Brier score"] == pytest.approx(quality.brier, rel=6e-3)
    assert shown["Calibration error"] == pytest.approx(quality.calibration_error, rel=6e-3)
    cells = [numbers_of(cell.inner_text())[0] for cell in page.locator(".confusion td").all()]
    assert cells == quality.confusion.ravel().tolist()


@pytest.mark.parametrize("label", ["no", "yes"])
def test_the_reliability_diagram_has_the_groups_of_the_model(open_page, heart, label):
    page = open_page(heart)
    page.get_by_label("of", exact=True).select_option(label=label)
    page.get_by_text("Numbers").click()
    rows = page.locator("#quality figure details tbody tr").all()
    shown = np.array(
        [[numbers_of(cell.inner_text())[-1] for cell in row.locator("td").all()] for row in rows]
    )
    groups = heart.quality_.reliability(label)
    np.testing.assert_allclose(shown[:, 0], 100 * groups.predicted, atol=0.051)
    np.testing.assert_allclose(shown[:, 1], 100 * groups.observed, atol=0.051)
    np.testing.assert_allclose(shown[:, 2], groups.weight)


def test_costs_move_the_cheapest_threshold(open_page, heart):
    page = open_page(heart)
    page.get_by_label("cost of a miss").fill("9")
    page.get_by_role("button", name="Use the cheapest threshold").click()
    thresholds = heart.quality_.thresholds("yes")
    cost = thresholds.false_positives + 9 * (thresholds.positives - thresholds.true_positives)
    best = int(np.argmin(cost))
    assert float(page.get_by_label("threshold", exact=True).input_value()) == pytest.approx(
        thresholds.threshold[best]
    )
    table = page.locator("#quality .figures").last.locator("td")
    shown = [numbers_of(cell.inner_text())[0] for cell in table.all()[:3]]
    missed = thresholds.positives - thresholds.true_positives[best]
    assert shown == [thresholds.true_positives[best], missed, thresholds.false_positives[best]]
    says = page.locator("#quality p[role=status]").inner_text()
    assert "the best threshold is 0.1." in says  # 1 / (1 + 9)


@pytest.mark.parametrize(
    "model",
    [
        sr.GaussianNB().fit([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0], [4.0, 7.0]], [0, 0, 1, 1]),
        sr.NaiveBayes.from_parameters(
            {"age": ("gaussian", {"mean": [40, 60], "sd": 10}), "smoker": ("bernoulli", {"yes": [0.2, 0.5]})},
            classes=["well", "sick"],
        ),
        sr.ComplementNB().fit([[1, 2], [3, 0], [0, 5], [4, 1]], [0, 0, 1, 1]),
        sr.DirichletMultinomialNB().fit([[1, 2], [3, 0], [0, 5], [4, 1]], [0, 0, 1, 1]),
        sr.CategoricalNB().fit([[1, 2], [1, 0], [0, 2], [0, 1]], [0, 0, 1, 1]),
        sr.NaiveBayes(calibrate=None).fit({"x": [1.0, 2.0, 3.0], "same": [1, 1, 1]}, ["a", "b", "c"]),
        sr.NaiveBayes(calibrate=None).fit({"x": [1.0, 2.0, 3.0]}, ["a", "a", "a"]),
    ],
    ids=[
        "gaussian",
        "parameters",
        "complement",
        "dirichlet_multinomial",
        "categorical",
        "three rows",
        "one class",
    ],
)
def test_a_model_without_a_score_says_why(open_page, model):
    page = open_page(model)
    assert "keeps no score on unseen rows" in page.locator("#quality").inner_text()
    assert page.locator("#columns li").count() > 0
    assert page.locator(".row .points").count() > 0
    assert not re.search(r"\b(NaN|undefined|null)\b", page.locator("body").inner_text())


def test_columns_are_ranked_by_information(open_page, heart):
    page = open_page(heart)
    names = page.locator("#columns h3").all_inner_texts()
    bits = heart.mutual_information(per_row=True)
    order = np.argsort(-bits, kind="stable")
    assert names == [heart.feature_names_in_[j] for j in order[: len(names)]]
    page.get_by_role("button", name="more columns").click()
    assert page.locator("#columns h3").count() == len(bits)
    page.locator("#find-column").fill("CHOL")
    assert page.locator("#columns h3").all_inner_texts() == ["cholesterol"]


def test_curves_are_densities(heart):
    model = heart._model
    drawn = pictures(model, set(range(13)), column_ranges(model))
    for j, picture in drawn.items():
        heights = np.array(picture["heights"])
        assert heights.shape[0] == 2 and np.isfinite(heights).all()
        if picture["kind"] == "curve":
            area = np.trapezoid(heights, picture["at"], axis=1)
            assert (area > 0.95).all() and (area < 1.001).all(), heart.feature_names_in_[j]
        else:
            assert (heights.sum(axis=1) < 1.0 + 1e-3).all() and (heights.sum(axis=1) > 0.9).all()


def test_a_wide_range_has_a_logarithmic_axis():
    x = np.exp(np.random.default_rng(0).normal(0.0, 2.0, 400))
    model = sr.NaiveBayes("lognormal", calibrate=None).fit({"x": x}, np.arange(400) % 2)._model
    picture = pictures(model, {0}, column_ranges(model))[0]
    assert picture["log"]
    area = np.trapezoid(picture["heights"], np.log(picture["at"]), axis=1)
    assert (np.abs(area - 1.0) < 0.03).all()


def test_many_classes_are_listed_as_pairs(open_page):
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 25
    model = sr.NaiveBayes().fit({"x": rng.normal(y), "z": rng.normal(y % 5)}, y)
    page = open_page(model)
    assert "Most frequent confusions" in page.locator("#quality").inner_text()
    confusion = model.quality_.confusion * (1 - np.eye(25))
    first = page.locator("#quality figure").last.locator("tbody tr").first.locator("td")
    assert numbers_of(first.last.inner_text())[0] == confusion.max()
    assert page.locator(".prob").count() == 10
    page.get_by_label("Points for").select_option("0")
    page.get_by_label("against").select_option("7")
    row = {"x": 3.0, "z": None}
    page.get_by_label("x", exact=True).fill("3")
    parts = model.explain(row).contributions[0, :, 0]
    shown = numbers_of(page.get_by_label("Points of x").inner_text())[0]
    assert shown == pytest.approx(parts[0] - parts[7], abs=6e-3)
    page.get_by_label("against").select_option("-1")
    shown = numbers_of(page.get_by_label("Points of x").inner_text())[0]
    assert shown == pytest.approx(parts[0] - parts[1:].mean(), abs=6e-3)
    page.get_by_label("Points for").select_option("-1")  # the most probable class
    best = int(model.predict_proba(row)[0].argmax())
    shown = numbers_of(page.get_by_label("Points of x").inner_text())[0]
    assert shown == pytest.approx(parts[best] - np.delete(parts, best).mean(), abs=6e-3)


def test_a_phone_shows_the_most_probable_of_many_classes(open_page):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 8
    model = sr.NaiveBayes(calibrate=None).fit({"x": rng.normal(3.0 * y)}, y)
    page = open_page(model, **PHONE)
    page.get_by_label("x", exact=True).fill("21")
    labels = page.locator(".prob .label").all_inner_texts()
    assert labels[0] == "7" and len(labels) == 5
    assert "and 3 less probable classes" in page.locator(".bars").inner_text()
    page = open_page(model)
    assert page.locator(".prob .label").all_inner_texts() == list("01234567")


def test_a_level_of_probability_zero_is_named_impossible(open_page):
    table = {"colour": ["red", "red", "blue", "green"]}
    model = sr.NaiveBayes("categorical", estimate="mle", calibrate=None).fit(table, ["a", "a", "b", "b"])
    page = open_page(model)
    page.get_by_label("colour", exact=True).select_option("red")
    assert page.get_by_label("Points of colour").inner_text() == "impossible"
    assert "Most probable: a, 100.0 %" in page.locator(".says").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_no_serious_finding_of_axe(open_page, heart, scheme, options):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    page = open_page(heart, color_scheme=scheme, **options)
    page.get_by_label("age", exact=True).fill("67")
    found = axe.Axe().run(page).response["violations"]
    assert [f"{v['id']}: {v['help']} {v['nodes'][0]['html']}" for v in found] == []


def test_no_serious_finding_of_axe_with_text_pairs_and_many_classes(open_page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 24, 1200)
    X = {
        "text": [f"word{k} word{k % 7} more {'x' * (k + 2)}" for k in y],
        "x": rng.normal(y),
        "many": [f"level {k}" for k in rng.integers(0, 400, 1200)],
        "half": y % 2,
        "third": (y // 2) % 3,
    }
    families = {"text": "text", "many": "categorical", "half": "categorical", "third": "categorical"}
    model = sr.NaiveBayes(families, interactions=[("half", "third")], calibrate=None).fit(X, y)
    page = open_page(model)
    page.get_by_label("text", exact=True).fill("word3 more word2")
    page.get_by_label("many", exact=True).fill("nowhere")
    page.get_by_label("half", exact=True).select_option("1")
    page.get_by_label("third", exact=True).select_option("2")
    assert page.locator("[aria-label='Pairs of columns'] li").count() == 1
    found = axe.Axe().run(page).response["violations"]
    assert [f"{v['id']}: {v['help']} {v['nodes'][0]['html']}" for v in found] == []


def test_a_phone_does_not_scroll_sideways(open_page, heart):
    page = open_page(heart, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    mammographic = sr.NaiveBayes().fit(load_mammographic("pandas").frame, "severity")
    page = open_page(mammographic, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    long = {
        "a_long_name_without_a_space_" * 4: [1.0, 2.0, 3.0, 5.0],
        "long name " * 9: ["long level " * 9, "x"] * 2,
    }
    model = sr.NaiveBayes(calibrate=None).fit(long, ["class_without_a_space_" * 5, "long class " * 9] * 2)
    page = open_page(model, title="A long title " * 9, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_columns_can_be_listed_by_points_and_by_name(open_page, heart):
    page = open_page(heart)
    page.get_by_label("high_sugar", exact=True).select_option("yes")
    page.get_by_label("Order").select_option("points")
    assert page.locator(".rows label").first.inner_text() == "high_sugar"
    page.get_by_label("Order").select_option("name")
    assert page.locator(".rows label").all_inner_texts() == sorted(heart.feature_names_in_)
    page.get_by_label("Order").select_option("table")
    assert page.locator(".rows label").all_inner_texts() == heart.feature_names_in_.tolist()


def test_the_facts_are_small(heart):
    facts = model_facts(heart._model, heart.loo_score_)
    assert facts["rows"] == 303 and facts["class_rows"] == [164, 139]
    assert facts["missing"][list(heart.feature_names_in_).index("vessels")] == 4
