"""Evidence of columns adds up to the score, has the standard deviation of the posterior, and can be shown."""

from __future__ import annotations

import math
import pickle
import re
import sys
from html.parser import HTMLParser

import matplotlib
import model_zoo
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from scipy.special import polygamma
from sunrise.plots import WaterfallDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

MODELS = model_zoo.one_of_each()
#: Relative error of a standard deviation from 1,000 draws, times four.
ERROR = 4.0 / math.sqrt(2 * 999)


def trigamma(x):
    return polygamma(1, x)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.filterwarnings("ignore")  # small models have reasons to warn
@pytest.mark.parametrize("kind", MODELS)
def test_terms_add_up_to_the_score_and_to_the_log_odds_of_every_model(kind):
    model, rows = MODELS[kind]()
    why, scores = model.explain(rows), model.predict_joint_log_proba(rows)
    size = 1.0 + np.abs(why.contributions).sum(axis=2) + np.abs(why.prior)
    finite = np.isfinite(scores)
    assert (np.abs(why.score - scores)[finite] <= 1e-12 * size[finite]).all()
    assert (np.isneginf(scores) == np.isneginf(why.score)).all()
    for row in range(min(3, len(scores)) if len(model.classes_) > 1 else 0):
        if not finite[row].any():
            continue
        told, own = why.comparison(row), dict(zip(model.classes_.tolist(), why.score[row], strict=True))
        assert told.log_odds == own[told.of] - own[told.against]
        assert told.probability == pytest.approx(model.predict_proba(rows)[row].max(), rel=1e-9)
        if np.isfinite(told.log_odds):
            total = math.fsum(term.evidence for term in told.terms)
            assert abs(total - told.log_odds) <= 1e-12 * size[row].max()
        assert all(term.sd >= 0 or np.isnan(term.sd) for term in told.terms)


def test_sd_of_yes_or_no_and_of_the_class_prior_is_that_of_the_beta_and_dirichlet_posteriors():
    X, y = {"a": [1] * 7 + [0] * 3 + [1] * 2 + [0] * 18}, ["x"] * 10 + ["y"] * 20
    told = sr.NaiveBayes("bernoulli", calibrate=None).fit(X, y).explain({"a": [1]}).comparison(of="x")
    prior, a = told.terms
    assert prior.sd == pytest.approx(math.sqrt(trigamma(11) + trigamma(21)), rel=ERROR)
    variance = trigamma(8) - trigamma(12) + trigamma(3) - trigamma(22)
    assert a.sd == pytest.approx(math.sqrt(variance), rel=ERROR)
    assert told.sd == pytest.approx(math.hypot(prior.sd, a.sd), rel=ERROR)


def test_sd_of_a_gaussian_is_that_of_the_normal_gamma_posterior():
    rng = np.random.default_rng(1)
    X, y = {"a": np.append(rng.normal(0, 1, 30), rng.normal(1, 2, 15))}, np.repeat(["x", "y"], [30, 15])
    model = sr.NaiveBayes("gaussian", calibrate=None).fit(X, y)
    at, mean = 2.5, model.posterior_["a"]
    m, kappa, a, b = (np.asarray(v).ravel() for v in (mean.m, mean.kappa, mean.a, mean.b))
    # The score is (log t - t (x - mu)^2) / 2 with t ~ Gamma(a, b) and mu ~ N(m, 1 / (kappa t)).
    d = at - m
    variances = trigamma(a) / 4 + d**4 * a / b**2 / 4 + d**2 * a / b / kappa + 0.5 / kappa**2 - d**2 / b / 2
    told = model.explain({"a": [at]}).comparison()
    assert told.terms[1].sd == pytest.approx(math.sqrt(variances.sum()), rel=1.5 * ERROR)


def test_counts_of_words_depend_on_each_other_and_the_sum_knows():
    X, y = np.array([[3, 1, 0], [2, 2, 1], [0, 1, 4], [1, 0, 6]]), list("aabb")
    told = (
        sr.MultinomialNB(class_prior=[0.5, 0.5])
        .fit(X, y)
        .explain([[2, 1, 1]])
        .comparison(of="a", against="b")
    )
    n = np.array([2, 1, 1])
    alpha = np.array([[6, 4, 2], [2, 2, 11]])
    variance = (n**2 * trigamma(alpha)).sum(axis=1) - 16 * trigamma(alpha.sum(axis=1))
    assert told.sd == pytest.approx(math.sqrt(variance.sum()), rel=ERROR)
    own = trigamma(alpha) - trigamma(alpha.sum(axis=1))[:, None]
    sds = {term.name: term.sd for term in told.terms}
    assert sds["class prior"] == 0.0
    assert [sds[f"x{j}"] for j in range(3)] == pytest.approx(
        (n * np.sqrt(own.sum(axis=0))).tolist(), rel=ERROR
    )


def test_text_has_the_sd_of_its_words():
    texts = ["sun sun rain", "sun wind", "rain rain", "wind rain rain"]
    why = sr.TextNB("multinomial", alpha=1.0, calibrate=None).fit(texts, list("aabb")).explain(["sun rain"])
    alpha = np.array([[4, 2, 2], [1, 5, 2]])  # sun, rain, wind, each with 1 pseudo-count
    variance = trigamma(alpha[:, :2]).sum(axis=1) - 4 * trigamma(alpha.sum(axis=1))
    whole = why.comparison(of="a", against="b", words=False)
    assert whole.terms[1].sd == pytest.approx(math.sqrt(variance.sum()), rel=ERROR)
    told = why.comparison(of="a", against="b")
    own = np.sqrt((trigamma(alpha) - trigamma(alpha.sum(axis=1))[:, None]).sum(axis=0))
    theta = alpha / 8
    assert [term.name for term in told.terms] == ["class prior", "text: sun", "text: rain"]
    for term, j in zip(told.terms[1:], (0, 1), strict=True):
        assert term.evidence == pytest.approx(math.log(theta[0, j] / theta[1, j]))
        assert term.sd == pytest.approx(own[j], rel=1.5 * ERROR)


def test_words_with_weights_of_their_own_have_their_share_of_the_sd():
    rng = np.random.default_rng(2)
    y = np.arange(300) % 2
    names = ["sun", "moon", "rain", "snow"]
    texts = [" ".join(rng.choice(names, 6, p=[0.4 - 0.2 * c, 0.2, 0.2, 0.2 + 0.2 * c])) for c in y]
    model = sr.TextNB("multinomial", calibrate="words").fit(texts, y)
    plain = sr.TextNB("multinomial", calibrate=None).fit(texts, y)
    own = model._model
    factors = own.calibration.words.factors_for(own.blocks[0]) * own.weights(0)[0]
    factors = factors * 3.0 ** own.row_exponents.get(0, 0.0)
    told, expected = (
        {term.name: term for term in m.explain(["sun snow"]).comparison(of=0, against=1).terms}
        for m in (model, plain)
    )
    for word in ("sun", "snow"):
        at = own.blocks[0].words.tolist().index(word)
        assert told[f"text: {word}"].sd == pytest.approx(expected[f"text: {word}"].sd * factors[at])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind", [kind for kind in MODELS if "TextNB" in kind or kind in ("default", "blocks")]
)
def test_words_add_up_to_their_column_and_are_those_of_explain_words(kind):
    model, rows = MODELS[kind]()
    why = model.explain(rows)
    for row in (0, 3, 5):
        told, whole = why.comparison(row), why.comparison(row, words=False)
        column = next(term for term in whole.terms if term.value in model_zoo.TEXTS)
        words = [term for term in told.terms if term.value == ""]
        assert math.fsum(term.evidence for term in words) == pytest.approx(column.evidence, abs=1e-12)
        text = model_zoo.TEXTS[row]
        name = next(iter(words)).name.partition(": ")[0]
        entries = model.explain_words(text, of=told.of, against=told.against, column=name)
        expected = {f"{name}: {entry.word or 'absent words'}": entry.evidence for entry in entries}
        for term in words:
            assert term.evidence == pytest.approx(expected[term.name], abs=1e-12)
    frame = why.frame()
    own, terms = frame[frame["row"] == 3], why.comparison(3).terms
    assert [name.strip("()") for name in own["term"]] == [term.name for term in terms]
    np.testing.assert_allclose(own["sd"], [term.sd for term in terms], rtol=2 * ERROR)
    display = why.plot(0, top=None)
    assert display.ends[-1] == pytest.approx(display.ends[-2], abs=1e-12)
    assert "other terms" in why.text(0, top=1) or len(why.comparison(0).terms) < 4


def test_parameters_without_a_posterior_have_no_sd_and_missing_cells_have_none_to_tell():
    X = {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0], "b": [0, 1, 0, 1, 1, 1]}
    model = sr.NaiveBayes({"a": "gamma", "b": "bernoulli"}, calibrate=None).fit(X, list("xxxyyy"))
    sds = {term.name: term.sd for term in model.explain({"a": [2.0], "b": [1]}).comparison().terms}
    assert math.isnan(sds["a"]) and sds["b"] > 0
    missing = model.explain({"a": [None], "b": [None]}).comparison()
    assert [term.name for term in missing.terms] == ["class prior"]
    given = sr.NaiveBayes.from_parameters({"b": ("bernoulli", {"yes": [0.2, 0.7]})}, classes=["x", "y"])
    told = given.explain({"b": [True]})
    assert "±" not in told.text(sd=True) and math.isnan(told.comparison().sd)
    points = sr.ComplementNB().fit([[1, 0], [0, 2]], ["x", "y"]).explain([[1, 1]])
    assert math.isnan(points.comparison().sd)
    smoothed = sr.GaussianNB().fit([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1]).explain([[2.0]])
    assert math.isnan(smoothed.comparison().terms[1].sd)


def heart():
    data = sr.datasets.load_heart_disease("pandas").frame
    return sr.NaiveBayes().fit(data, "disease"), data.drop(columns="disease").head(5)


def test_a_frame_has_the_terms_of_every_row():
    model, rows = heart()
    why = model.explain(rows)
    frame = why.frame()
    assert list(frame) == ["row", "of", "against", "term", "value", "evidence", "sd"]
    p = model.predict_log_proba(rows)
    sums = frame.groupby("row")["evidence"].sum()
    np.testing.assert_allclose(sums, np.abs(p[:, 1] - p[:, 0]), rtol=1e-11)
    pd.testing.assert_frame_equal(why.frame(2), frame[frame["row"] == 2].reset_index(drop=True))
    other = why.frame(2, of="no", against="yes")
    assert (other["of"] == "no").all() and other["evidence"].sum() == pytest.approx(p[2, 0] - p[2, 1])
    assert isinstance(why.frame(library="polars"), pl.DataFrame)
    told = why.comparison(2)
    assert frame[frame["row"] == 2]["sd"].tolist()[3:] == pytest.approx(
        [t.sd for t in told.terms[3:]], nan_ok=True
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_frame_is_of_the_library_of_the_rows_or_of_the_model(library):
    X = {"a": [0, 1, 0, 1], "b": [1, 1, 0, 0]}
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
    plain, framed = (sr.NaiveBayes("bernoulli").fit(form(X), list("xxyy")) for form in (dict, make))
    for why in (plain.explain(make({"a": [1], "b": [0]})), framed.explain({"a": 1, "b": 0})):
        assert type(why.frame()) is make
    assert type(plain.explain({"a": 1, "b": 0}).frame()) is pd.DataFrame


def test_without_a_library_of_frames_the_error_says_what_to_install(monkeypatch):
    why = sr.NaiveBayes("bernoulli").fit({"a": [0, 1]}, ["x", "y"]).explain({"a": 1})
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install pandas"):
        why.frame()


class Cells(HTMLParser):
    """Collect the texts of the cells and the bars of a table."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.bars = [], []
        self.feed(page)

    def handle_data(self, data):
        self.texts.append(data)

    def handle_starttag(self, tag, attributes):
        if tag == "rect":
            self.bars.append({name: float(value) for name, value in attributes if name in ("x", "width")})


def test_html_has_a_row_and_a_bar_for_each_term_and_escapes_what_users_write():
    X = {"<b>": ["<script>", "x", "<script>", "x"] * 3, "ok": [1, 0, 1, 0] * 3}
    model = sr.NaiveBayes({"<b>": "categorical", "ok": "bernoulli"}, calibrate=None).fit(
        X, ["p", "p", "q", "q"] * 3
    )
    why = model.explain({"<b>": ["<script>"], "ok": [1]})
    page = why.html(of="p", against="q")
    assert "<script>" not in page and "&lt;script&gt;" in page and page == why.html(0, of="p", against="q")
    parsed, told = Cells(page), why.comparison(of="p", against="q")
    assert len(parsed.bars) == len(told.terms) == 3
    longest = max(abs(term.evidence) for term in told.terms) or 1.0
    for bar, term in zip(parsed.bars, told.terms, strict=True):
        assert bar["width"] == pytest.approx(50 * abs(term.evidence) / longest, abs=0.01)
        assert f"{term.evidence:+.2f}" in parsed.texts
    assert why._repr_html_().startswith("<div")
    sure = sr.NaiveBayes("gaussian", calibrate=None).fit({"x": [0.0, 1.0, 9.0, 10.0]}, list("aabb"))
    p = sure.predict_proba({"x": [5.5]})[0, 1]
    assert 0.9995 < p < 1 and f"P(b) = 1 - {1 - p:.1g}" in sure.explain({"x": [5.5]}).html()
    assert "1 more rows" in model.explain({"<b>": ["x", "x"], "ok": [1, 0]})._repr_html_()


def test_the_text_with_sd_and_the_sum_of_the_other_columns():
    model, rows = heart()
    why = model.explain(rows)
    plain, spread = why.text(1, top=2), why.text(1, top=2, sd=True)
    assert [line.split()[0] for line in plain.splitlines()] == [
        line.split()[0] for line in spread.splitlines()
    ]
    told = why.comparison(1)
    assert spread.splitlines()[0].endswith(f"± {told.sd:.2f}")
    assert (
        spread.splitlines()[1] == f"    {told.terms[0].evidence:+.2f} ± {told.terms[0].sd:.2f}  class prior"
    )
    assert re.fullmatch(r"  +\+\d\.\d\d ± \d\.\d\d  11 other columns", spread.splitlines()[-1])
    with pytest.raises(ValueError, match="top is -1"):
        why.text(top=-1)


def test_an_explanation_that_was_pickled_tells_the_same():
    model, rows = heart()
    why = model.explain(rows)
    again = pickle.loads(pickle.dumps(why))
    assert again.text(1, sd=True) == why.text(1, sd=True)


def test_bars_of_a_waterfall_start_where_the_last_one_ended_and_end_at_the_log_odds():
    model, rows = heart()
    why = model.explain(rows)
    told = why.comparison(1)
    display = why.plot(1, top=None)
    bars = display.ax_.patches
    assert len(bars) == len(told.terms) + 1 and display.figure_ is display.ax_.figure
    for bar, term in zip(bars[:-1], told.terms, strict=True):
        assert bar.get_width() == pytest.approx(term.evidence, abs=1e-12)
    starts, ends = (
        [get(bar) for bar in bars] for get in (lambda b: b.get_x(), lambda b: b.get_x() + b.get_width())
    )
    assert starts[0] == 0 and starts[1:-1] == pytest.approx(ends[:-2])
    log_p = model.predict_log_proba(rows)[1]
    assert (starts[-1], ends[-1]) == pytest.approx((0.0, abs(log_p[1] - log_p[0])))
    assert ends[-2] == pytest.approx(ends[-1], abs=1e-12)
    lines = display.ax_.containers[1].lines[2][0].get_segments()
    half = [(line[1, 0] - line[0, 0]) / 2 for line in lines]
    assert half == pytest.approx([sd for sd in (*(t.sd for t in told.terms), told.sd) if sd > 0])
    assert f"P(yes) = {np.exp(log_p[1]):.3g}" in display.ax_.get_title(loc="left")


def test_a_waterfall_of_few_columns_keeps_the_sum_and_takes_given_axes():
    model, rows = heart()
    _, ax = plt.subplots()
    display = WaterfallDisplay.from_estimator(model, rows, row=1, top=3, of="no", against="yes", ax=ax)
    assert display.ax_ is ax and len(ax.patches) == 7  # prior, offset, 3 columns, the others, the sum
    assert display.labels[-2] == "10 other columns" and display.ends[-1] == pytest.approx(display.ends[-2])
    log_p = model.predict_log_proba(rows)[1]
    assert display.ends[-1] == pytest.approx(log_p[0] - log_p[1])
    display.figure_.canvas.draw()


def test_classes_that_are_ruled_out_and_single_classes():
    model = sr.BernoulliNB(alpha=0).fit([[1, 0], [1, 1], [0, 1]], [0, 1, 1])
    why = model.explain([[0, 1], [1, 0]])
    display = why.plot(0)
    display.figure_.canvas.draw()
    assert "impossible otherwise" in [text.get_text() for text in display.ax_.texts]
    assert np.isinf(why.frame(0)["evidence"]).sum() == 2 and "impossible" in why.html(0)
    with np.errstate(all="raise"):
        assert why.comparison(0).probability == 1.0
    one = sr.BernoulliNB().fit([[1], [0]], ["a", "a"]).explain([[1]])
    assert one.html() == "<p>a: the only class</p>"
    with pytest.raises(ValueError, match="no two classes to compare: a: the only class"):
        one.plot()
