"""The scripts of the page score every kind of block as `predict_proba` does."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from export.engines import plain
from export.test_estimators import MODELS, Y
from export.test_families import CALIBRATIONS, ESTIMATES, FAMILIES, check, fit
from export.test_text import LABELS, SETTINGS, TEXTS


class Scripts:
    """Scores tables by the scripts of an open page, from the JSON export of a model."""

    name, tolerance, is_sql = "page", 1e-9, False

    def __init__(self, page):
        self.page = page

    def __call__(self, model, X):
        rows = [[encode(value) for value in row] for row in plain(X).itertuples(index=False)]
        text = model.to_json()
        script = """([text, rows]) => {
            const model = new Model(JSON.parse(text));
            return rows.map(row => model.score(model.values(row)).p);
        }"""
        p = np.array(self.page.evaluate(script, [text, rows]))
        return p, np.array(json.loads(text)["classes"], dtype=object)[p.argmax(axis=1)]


def encode(value):
    """A cell as a value that JavaScript reads."""
    return value.item() if isinstance(value, np.generic) else value


@pytest.fixture(scope="module")
def scripts(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("scripts") / "model.html"
    sr.NaiveBayes(calibrate=None).fit({"x": [1.0, 2.0, 3.0, 5.0]}, [0, 0, 1, 1]).report(path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    yield Scripts(page)
    page.close()


@pytest.mark.parametrize("name, calibrate", CALIBRATIONS)
def test_families(scripts, name, calibrate):
    check(scripts, *fit(name, FAMILIES[name], calibrate=calibrate), 1e-6 if name == "kernel" else None)


@pytest.mark.parametrize("name, estimate", [(name, e) for name, all_ in ESTIMATES.items() for e in all_])
def test_estimates(scripts, name, estimate):
    check(scripts, *fit(name, FAMILIES[name], estimate, calibrate=None), 1e-6 if name == "kernel" else None)


@pytest.mark.parametrize("unseen", ["reserve", "ignore"])
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_levels(scripts, unseen, missing):
    families = {"colour": sr.Categorical(missing=missing)}
    check(scripts, *fit("gaussian", "gaussian", unseen=unseen, families=families), 1e-6)


def paired():
    """A model with pairs of levels, of numbers and of both, and rows with missing cells and unseen levels."""
    rng = np.random.default_rng(5)
    n = 400
    X = pd.DataFrame(
        {"soil": rng.choice(["clay", "loam", "sand"], n), "light": rng.choice(["sun", "shade"], n)}
        | {"age": rng.normal(5.0, 2.0, n), "size": rng.normal(1.0, 0.3, n)}
    )
    y = ((X["soil"] == "sand") == (X["light"] == "sun")) ^ ((X["age"] > 5) & (X["size"] > 1))
    pairs = [("soil", "light"), ("age", "size"), ("soil", "age")]
    model = sr.NaiveBayes(interactions=pairs).fit(X, y.to_numpy())
    rows = X[:80].astype(object).mask(rng.random((80, 4)) < 0.15)
    rows.loc[::9, "soil"] = "peat"
    rows[["age", "size"]] = rows[["age", "size"]].astype(float)
    return model, rows


def test_pairs_of_columns(scripts):
    model, rows = paired()
    assert len(model.interactions_) == 3
    check(scripts, model, rows, 1e-6)


@pytest.mark.parametrize("families", ["gaussian", {("u", "v", "w"): sr.Correlated()}])
def test_columns_scored_together(scripts, families):
    rng = np.random.default_rng(2)
    z, y = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    X = pd.DataFrame({"u": 9.0 + 5.0 * z[:, 0], "v": z[:, 1] + (y - 1.0) * z[:, 0], "w": z[:, 2] + 0.5 * y})
    model = sr.NaiveBayes(families).fit(X, np.array(list("abc"))[y])
    assert "quadratic" in [block["kind"] for block in json.loads(model.to_json())["blocks"]]
    check(scripts, model, X[:60].mask(rng.random((60, 3)) < 0.2), 1e-9)


def test_a_pair_shows_its_points(open_page):
    model, _ = paired()
    row = {"soil": "sand", "light": "sun", "age": None, "size": None}
    page = open_page(model)
    page.get_by_label("soil", exact=True).select_option("sand")
    assert page.locator("[aria-label='Pairs of columns'] li").count() == 0
    page.get_by_label("light", exact=True).select_option("sun")
    shown = page.locator("[aria-label='Pairs of columns'] .points").inner_text().replace("\u2212", "-")
    explained = model.explain(row)
    at = next(k for k, name in enumerate(explained.columns) if str(name).startswith("soil \u00d7 light"))
    parts = explained.contributions[0, :, at]
    assert float(shown) == pytest.approx(parts[1] - parts[0], abs=6e-3)
    assert "soil \u00d7 light" in page.locator("#columns details").first.inner_text()


@pytest.mark.parametrize("name", MODELS)
def test_estimators(scripts, name):
    model, X = MODELS[name]
    model = model.fit(X, Y)
    rows = X[:40].copy()
    rows[:3] = rows[:3] + 9.0 if "bernoulli" not in name else rows[:3]
    rows[np.random.default_rng(3).random(rows.shape) < 0.2] = np.nan
    rows[5] = np.nan
    check(scripts, model, rows, 1e-6 if name.startswith(("kernel", "auto")) else None)


@pytest.mark.parametrize("name", SETTINGS)
def test_text(scripts, name):
    model = sr.TextNB(**SETTINGS[name]).fit(TEXTS * 12, LABELS * 12)
    documents = [
        *TEXTS, "nothing known", "", "free lunch free lunch at the élan", "ÉLAN\u2003now  now x_1 ① Ünï İI ΣΑΣ", None
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.ImpossibleRowWarning)
        expected = model.predict_proba(documents)
    p, _ = scripts(model, pd.DataFrame({"text": documents}, dtype=object))
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("a", [1e-6, 0.3, 5.0, 123.4, 1e5])
@pytest.mark.parametrize("n", [0.5, 1, 7, 65, 1000, 12345.5])
def test_the_rising_factorial_keeps_its_digits(scripts, a, n):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        exact = float(mpmath.loggamma(mpmath.mpf(a) + n) - mpmath.loggamma(mpmath.mpf(a)))
    found = scripts.page.evaluate("([a, n]) => logRising(a, n)", [a, n])
    assert found == pytest.approx(exact, rel=1e-13, abs=1e-12)


@pytest.mark.parametrize(
    "value", [0.1, 1e-5, 1.5e-7, 2.5, 123456.75, 1.25e16, 1.5e300, 0.0001, 3.0, -0.25, 1e20]
)
def test_levels_of_numbers_have_the_names_of_python(scripts, value):
    expected = str(int(value)) if value.is_integer() else str(value)
    assert scripts.page.evaluate("levelName", value) == expected


def test_an_unknown_kind_of_block_is_named(scripts):
    spec = json.loads(sr.GaussianNB().fit([[1.0], [2.0]], [0, 1]).to_json())
    spec["blocks"][0]["kind"] = "ensemble"
    script = "spec => { try { new Model(spec); } catch (error) { return error.message; } }"
    assert 'blocks of the kind "ensemble"' in scripts.page.evaluate(script, spec)
