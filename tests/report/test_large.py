"""Text, and models with very many columns, words or levels: the page stays usable."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from report.test_page import posterior

TEXTS = ["Free prize now, call now", "free free prize", "lunch at noon?", "see you at lunch"]
LABELS = ["spam", "spam", "ham", "ham"]


@pytest.fixture
def texts(find_data):
    with gzip.open(find_data("sms-spam.jsonl.gz"), "rt", encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], [row["label"] for row in rows]


@pytest.mark.parametrize("settings", [{}, {"model": "dirichlet_multinomial"}], ids=["default", "polya"])
def test_a_person_types_a_text(open_page, settings):
    model = sr.TextNB(**settings).fit(TEXTS * 5, LABELS * 5)
    page = open_page(model)
    page.get_by_label("text", exact=True).fill("A FREE lunch, free!")
    p = model.predict_proba(["A FREE lunch, free!"])[0]
    spam = model.classes_.tolist().index("spam")
    assert page.evaluate("sunrise.nomogram.result.p") == pytest.approx(p.tolist(), abs=1e-12)
    words = [text.split() for text in page.locator(".words li").all_inner_texts()]
    expected = model.explain_words("A FREE lunch, free!", of=model.classes_[1], against=model.classes_[0])
    assert [w[0] for w in words] == [entry.word for entry in expected]
    assert words[0][1] == "\u00d72"
    shown = [float(w[-1].replace("\u2212", "-")) for w in words]
    assert shown == pytest.approx([entry.evidence for entry in expected], abs=6e-3)
    assert (p[spam] > 0.5) == ("Most probable: spam" in page.locator(".says").inner_text())
    page.get_by_label("text", exact=True).fill("")
    assert page.get_by_label("Points of text").inner_text() == "missing"
    assert page.locator(".words li").count() == 0


def test_messages(open_page, texts):
    X, y = texts
    model = sr.TextNB().fit(X[:3000], y[:3000])
    page = open_page(model)
    found = posterior(page, [{"text": text} for text in X[3000:3300]])
    np.testing.assert_allclose(found, model.predict_proba(X[3000:3300]), rtol=0, atol=1e-9)
    # The most informative words are drawn, as informative_words has them.
    label = page.locator("#columns .chart").get_attribute("aria-label")
    assert f"text: {model.informative_words(1)[0][0]} is most frequent in class spam" in label


def test_ten_thousand_columns(open_page):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 10_000)) + y[:, None] * rng.normal(0.0, 0.3, 10_000)
    frame = pd.DataFrame(X, columns=[f"gene_{j}" for j in range(10_000)])
    model = sr.NaiveBayes("gaussian", calibrate=None).fit(frame, y)
    page = open_page(model)
    assert page.locator(".rows .row").count() == 20
    assert page.evaluate("document.querySelectorAll('*').length") < 4000
    page.get_by_role("button", name="Show 20 more").click()
    assert page.locator(".rows .row").count() == 40
    page.locator("#search").fill("gene_777")
    assert page.locator(".rows .row").count() == 11  # gene_777 and gene_7770 to gene_7779
    page.get_by_label("gene_777", exact=True).fill("2.5")
    row = {f"gene_{j}": None for j in range(10_000)} | {"gene_777": 2.5}
    assert page.evaluate("sunrise.nomogram.result.p") == pytest.approx(
        model.predict_proba(row)[0].tolist(), abs=1e-9
    )
    page.locator("#search").fill("")
    page.get_by_label("only set values").check()
    assert page.locator(".rows label").all_inner_texts() == ["gene_777"]
    found = posterior(page, X[:5].tolist())
    np.testing.assert_allclose(found, model.predict_proba(frame[:5]), rtol=0, atol=1e-9)
    # A change must be answered at once: measured generously, because test machines are slow.
    script = (
        "() => { const t = performance.now(); sunrise.set('gene_5', 1.5); return performance.now() - t; }"
    )
    assert page.evaluate(script) < 500


def test_a_column_with_very_many_levels(open_page):
    rng = np.random.default_rng(0)
    city = [f"city {k}" for k in rng.integers(0, 900, 4000)]
    y = (rng.random(4000) < 0.3 + 0.4 * (np.char.str_len(np.array(city)) > 7)).astype(int)
    model = sr.NaiveBayes({"city": "categorical"}, calibrate=None).fit({"city": city}, y)
    page = open_page(model)
    field = page.get_by_label("city", exact=True)
    field.fill("city 77")
    assert 1 < page.locator("datalist option").count() <= 30
    expected = model.predict_proba({"city": "city 77"})[0].tolist()
    assert page.evaluate("sunrise.nomogram.result.p") == pytest.approx(expected, abs=1e-12)
    field.fill("nowhere")
    assert page.get_by_text("not seen in training").is_visible()


def test_counts_start_empty_and_can_be_set_to_zero(open_page):
    X = np.array([[3, 0, 1], [2, 1, 0], [0, 4, 1], [1, 3, 2]])
    model = sr.MultinomialNB().fit(X, [0, 0, 1, 1])
    page = open_page(model)
    page.get_by_label("x1", exact=True).fill("4")
    page.get_by_role("button", name="Empty counts to 0").click()
    expected = model.predict_proba([[0, 4, 0]])[0].tolist()
    assert page.evaluate("sunrise.nomogram.result.p") == pytest.approx(expected, abs=1e-12)
    assert page.get_by_label("x0", exact=True).input_value() == "0"


def test_a_refused_level_is_explained(open_page):
    model = sr.NaiveBayes("categorical", unseen="error", calibrate=None).fit(
        {"a": list("xxyy")}, [0, 1, 1, 1]
    )
    page = open_page(model)
    page.get_by_label("a", exact=True).select_option("(another value)")
    assert "refuses values that it has not seen" in page.get_by_role("alert").inner_text()
    page.get_by_role("button", name="Clear a: missing").click()
    assert not page.locator("#problem").is_visible()


@pytest.mark.slow
def test_twenty_newsgroups(open_page, find_data, tmp_path):
    with gzip.open(find_data("20news-bydate.jsonl.gz"), "rt", encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    train, test = ([row for row in rows if row["split"] == part] for part in ("train", "test"))
    model = sr.TextNB().fit([row["text"] for row in train], [row["group"] for row in train])
    page = open_page(model)
    documents = [row["text"] for row in test[::400]]
    found = posterior(page, [{"text": text} for text in documents])
    np.testing.assert_allclose(found, model.predict_proba(documents), rtol=0, atol=1e-9)
    page.get_by_label("text", exact=True).fill("the goalie of the hockey team")
    assert "Most probable: rec.sport.hockey" in page.locator(".says").inner_text()
    script = (
        "() => { const t = performance.now(); sunrise.set('text', 'space'); return performance.now() - t; }"
    )
    assert page.evaluate(script) < 500
