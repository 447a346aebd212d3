"""The live page in a real browser: values change, and the numbers are those of Python."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import sunrise as sr
from sunrise.datasets import load_heart_disease, load_house_votes


def posterior(page, rows):
    """Probabilities of records, computed by the page."""
    return np.array(page.evaluate("rows => rows.map(row => sunrise.posterior(row))", rows))


def records(frame):
    """Rows of a frame as records that JavaScript reads: None for a missing cell."""
    return json.loads(frame.to_json(orient="records", double_precision=15))


@pytest.fixture(scope="module")
def heart():
    frame = load_heart_disease("pandas").frame
    return sr.NaiveBayes().fit(frame, "disease"), frame.drop(columns="disease")


def record(model, **values):
    """A record of a model with these values; all others are missing."""
    return dict.fromkeys(model.feature_names_in_, None) | values


def shown_probability(page, label):
    text = page.locator(".prob", has_text=label).locator(".value").inner_text()
    return float(text.removesuffix(" %")) / 100


def test_the_page_is_one_small_file_that_opens(open_page, heart, tmp_path):
    page = open_page(heart[0], title="Heart <disease> & co")
    assert page.title() == "Heart <disease> & co"
    assert page.locator("h1").inner_text() == "Heart <disease> & co"
    text = (tmp_path / "model.html").read_text()
    assert len(text) - len(heart[0].to_json()) < 300_000
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", text)


def test_the_page_computes_the_probabilities_of_predict_proba(open_page, heart):
    model, X = heart
    rows = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    np.testing.assert_allclose(
        posterior(open_page(model), records(rows)), model.predict_proba(rows), rtol=0, atol=1e-6
    )


def test_a_value_is_set_and_cleared_by_a_person(open_page, heart):
    model, _ = heart
    page = open_page(model)
    assert shown_probability(page, "yes") == pytest.approx(model.class_prior_[1], abs=6e-4)
    page.get_by_label("age", exact=True).fill("67")
    page.get_by_label("sex", exact=True).select_option("male")
    row = record(model, age=67, sex="male")
    assert shown_probability(page, "yes") == pytest.approx(model.predict_proba(row)[0, 1], abs=6e-4)
    contributions = model.explain(row).contributions[0, :, list(row).index("age")]
    age = contributions[1] - contributions[0]
    shown = page.get_by_label("Points of age", exact=True).inner_text().replace("\u2212", "-")
    assert float(shown) == pytest.approx(age, abs=6e-3)
    page.get_by_role("button", name="Clear age").click()
    assert page.get_by_label("age", exact=True).input_value() == ""
    expected = model.predict_proba(record(model, sex="male"))[0, 1]
    assert shown_probability(page, "yes") == pytest.approx(expected, abs=6e-4)
    page.get_by_role("button", name="Clear all").click()
    assert shown_probability(page, "yes") == pytest.approx(model.class_prior_[1], abs=6e-4)


def test_a_page_is_driven_by_the_keyboard_alone(open_page):
    votes = load_house_votes("pandas").frame
    model = sr.NaiveBayes(calibrate=None).fit(votes, "party")
    page = open_page(model)
    first = page.locator(".row select").first
    name = page.locator(".row label").first.inner_text()
    first.focus()
    page.keyboard.press("ArrowDown")
    value = first.input_value()
    expected = model.predict_proba(record(model, **{name: float(value)}))[0]
    assert shown_probability(page, str(model.classes_[0])) == pytest.approx(expected[0], abs=6e-4)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the button that clears the value
    assert first.input_value() != value
    assert first.evaluate("field => field === document.activeElement")
    assert shown_probability(page, str(model.classes_[0])) == pytest.approx(model.class_prior_[0], abs=6e-4)


def test_text_of_a_model_cannot_end_a_script(open_page):
    names = ["</script><script>alert(1)</script>", "<!--", "{{model}}", "\u2028"]
    table = {name: ["a", "<b>", "a", "<b>"] for name in names}
    model = sr.NaiveBayes("categorical", calibrate=None).fit(table, ["<i>x</i>", "y", "y", "<i>x</i>"])
    page = open_page(model, title="{{facts}}")
    assert page.title() == "{{facts}}"
    assert page.locator(".row label").all_inner_texts()[0]
    row = dict.fromkeys(names, "<b>")
    np.testing.assert_allclose(posterior(page, [row]), model.predict_proba(row), rtol=0, atol=1e-12)


def test_a_folder_is_not_a_page(heart, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        heart[0].report(tmp_path)
