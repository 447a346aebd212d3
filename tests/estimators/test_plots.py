"""Plots: densities that integrate to 1 and are the model's own, over the data; drawn without a screen."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from scipy import sparse, stats
from sunrise import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    plots,
)
from sunrise.plots.densities import DensityDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "height": rng.normal(170 + 10 * k, 7.0, n),
            "wind": rng.choice([-2.0, 2.0], n) * (1 + k) + rng.normal(size=n) / 3,
            "wait": rng.gamma(2.0 + k, 1.0, n),
            "hair": np.where(rng.random(n) < 0.3 + 0.4 * k, "long", "short"),
            "goals": rng.poisson(2.0 + 2 * k),
            "member": rng.random(n) < 0.2 + 0.5 * k,
        }
    )
    X.loc[::9, "height"] = np.nan
    return X, np.array(["a", "b"])[k]


FAMILIES = {"wind": "binned", "wait": "gamma", "goals": "poisson"}


@pytest.fixture(scope="module")
def fitted():
    X, y = rows()
    return NaiveBayes(FAMILIES).fit(X, y), X, y


def panel_of(display, name):
    return next(panel for panel in display.panels if panel.name == name)


def test_every_column_has_a_panel_with_curves_and_data_of_area_1(fitted):
    display = DensityDisplay.from_estimator(*fitted)
    X = fitted[1]
    assert [panel.name for panel in display.panels] == list(X)
    assert len(display.axes_) == 6 and display.figure_ is display.axes_[0].figure
    display.figure_.canvas.draw()
    for panel in display.panels:
        steps = panel.name == "wind"
        areas = {
            "curve": lambda p: np.trapezoid(p.fitted, p.at, axis=1),
            "steps": lambda p: (p.fitted * np.diff(p.at)).sum(axis=1),
            "bars": lambda p: p.fitted.sum(axis=1),
        }["bars" if not panel.is_curve else "steps" if steps else "curve"](panel)
        np.testing.assert_allclose(areas, 1.0, atol=0.03 if panel.name != "hair" else 0.1)
        widths = 1.0 if panel.edges is None else np.diff(panel.edges)
        np.testing.assert_allclose((panel.data * widths).sum(axis=1), 1.0)


def test_curves_are_the_densities_of_the_parameters(fitted):
    model, X, y = fitted
    display = DensityDisplay.from_estimator(model, X, y, columns=["height", "goals", "member", "hair"])
    numbers = model.parameters_
    height = panel_of(display, "height")
    for c in range(2):
        mean, sd = (numbers["height"][name][c] for name in ("mean", "sd"))
        np.testing.assert_allclose(height.fitted[c], stats.norm(mean, sd).pdf(height.at))
        rate = numbers["goals"]["rate"][c]
        goals = panel_of(display, "goals")
        np.testing.assert_allclose(goals.fitted[c], stats.poisson(rate).pmf(goals.at))
        assert panel_of(display, "hair").fitted[c, 0] == numbers["hair"]["long"][c]
    member = panel_of(display, "member")
    assert member.at == ["no", "yes"]
    observed = [X["member"][y == c].mean() for c in "ab"]
    np.testing.assert_allclose(member.data[:, 1], observed)
    np.testing.assert_allclose(member.fitted[:, 1], observed, atol=0.01)


def test_panels_may_be_weighed_by_the_prior(fitted):
    model, X, y = fitted
    plain = DensityDisplay.from_estimator(model, X, y, columns=["height"]).panels[0]
    weighed = DensityDisplay.from_estimator(model, X, y, columns=["height"], weighted=True).panels[0]
    np.testing.assert_allclose(weighed.fitted, plain.fitted * model.class_prior_[:, None])
    np.testing.assert_allclose(weighed.data, plain.data * [[np.mean(y == c)] for c in "ab"])


def test_axes_may_be_given(fitted):
    model, X, y = fitted
    figure, axes = plt.subplots(1, 2)
    display = DensityDisplay.from_estimator(model, X, y, columns=["wind", "hair"], ax=axes)
    assert display.figure_ is figure and display.axes_.tolist() == axes.tolist()
    assert [t.get_text() for t in axes[0].get_legend().get_texts()] == [
        *("a", "b", "shading: data", "line: model")
    ]
    with pytest.raises(ValueError, match="ax has 1 axes for 2 columns"):
        display.plot(ax=axes[0])
    assert display.plot().figure_ is not figure


@pytest.mark.parametrize(
    "model, cells",
    [
        (GaussianNB(), lambda rng: rng.normal(size=(60, 2))),
        (PoissonNB(), lambda rng: rng.poisson(200.0, (60, 2))),
        (BernoulliNB(binarize=0.5), lambda rng: rng.normal(size=(60, 2))),
        (CategoricalNB(), lambda rng: rng.integers(0, 4, (60, 2))),
        (NaiveBayes("binned"), lambda rng: sparse.csr_array(rng.poisson(1.0, (60, 2)).astype(float))),
        (NaiveBayes("lognormal", estimate="predictive"), lambda rng: rng.gamma(2.0, 1.0, (60, 2))),
        (NaiveBayes("gaussian", calibrate="columns"), lambda rng: pd.DataFrame(rng.normal(size=(60, 2)))),
        (NaiveBayes("binned"), lambda rng: pd.DataFrame(rng.normal(size=(60, 2)), columns=["p", "q"])),
    ],
)  # fmt: skip
def test_models_of_all_kinds_are_drawn(model, cells):
    rng = np.random.default_rng(3)
    X, y = cells(rng), np.repeat([0, 1, 2], 20)
    display = DensityDisplay.from_estimator(model.fit(X, y), X, y)
    display.figure_.canvas.draw()
    assert len(display.panels) == 2
    for panel in display.panels:
        assert (panel.fitted >= 0).all() and panel.fitted.shape[0] == 3


def test_labels_may_come_by_name_and_many_columns_are_the_most_telling():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 200)
    X = pd.DataFrame({f"c{j}": rng.normal(size=200) + (j % 2) * y for j in range(40)})
    frame = X.assign(label=y)
    model = NaiveBayes("gaussian").fit(frame, "label")
    display = DensityDisplay.from_estimator(model, frame, "label")
    names = [panel.name for panel in display.panels]
    assert len(names) == plots.densities.MOST_PANELS
    assert {f"c{j}" for j in range(1, 40, 2)} <= set(names)
    assert names == sorted(names, key=lambda name: int(name[1:]))


def test_many_levels_and_many_classes():
    rng = np.random.default_rng(5)
    X = {"code": [f"level {k}" for k in rng.integers(0, 60, 900)], "x": rng.normal(size=900)}
    y = rng.integers(0, 14, 900)
    display = DensityDisplay.from_estimator(NaiveBayes({"code": "categorical"}).fit(X, y), X, y)
    display.figure_.canvas.draw()
    assert len(display.panels[0].at) == plots.densities.MOST_LEVELS
    assert (display.panels[0].data.sum(axis=1) < 1.0).all()


def test_what_cannot_be_drawn_is_told(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="'nothing' is not a column of this model. Columns to plot: height"):
        DensityDisplay.from_estimator(model, X, y, columns=["nothing"])
    with pytest.raises(ValueError, match="'z', which is not one of the classes"):
        DensityDisplay.from_estimator(model, X, np.where(y == "a", "z", y))
    counts = MultinomialNB().fit([[1, 0], [0, 2]], ["a", "b"])
    with pytest.raises(ValueError, match="there is nothing to plot"):
        DensityDisplay.from_estimator(counts, [[1, 0], [0, 2]], ["a", "b"])
    with pytest.raises(ValueError, match="'x0' has no distribution of its own"):
        DensityDisplay.from_estimator(counts, [[1, 0], [0, 2]], ["a", "b"], columns=["x0"])
    text = NaiveBayes({"text": "text"}).fit({"text": ["red wine", "dark beer"]}, ["a", "b"])
    with pytest.raises(ValueError, match="nothing to plot"):
        DensityDisplay.from_estimator(text, {"text": ["red wine", "dark beer"]}, ["a", "b"])


def test_without_matplotlib_the_error_says_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        DensityDisplay.from_estimator(*fitted)


def test_importing_sunrise_does_not_import_matplotlib():
    import subprocess

    code = "import sunrise, sys; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_columns_may_be_named_by_their_places_and_not_be_none():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    model = NaiveBayes("gaussian").fit(X, y)
    assert len(DensityDisplay.from_estimator(model, X, y, columns=[2, 0]).panels) == 2
    with pytest.raises(ValueError, match="columns is empty"):
        DensityDisplay.from_estimator(model, X, y, columns=[])


def log_rows():
    rng = np.random.default_rng(6)
    k = np.arange(900) % 2
    income = np.exp(rng.normal(8 + 0.5 * k, 1.1))
    visits = np.floor(np.exp(rng.normal(3, 1.2, 900))) + 1
    return {"income": income, "visits": visits, "even": rng.normal(50, 5, 900)}, k


def test_positive_numbers_with_a_long_tail_have_a_log_axis_on_which_areas_are_probabilities():
    X, y = log_rows()
    families = {"income": "lognormal", "visits": "lognormal", "even": "lognormal"}
    display = DensityDisplay.from_estimator(NaiveBayes(families, calibrate=None).fit(X, y), X, y)
    assert [panel.log for panel in display.panels] == [True, True, False]
    assert [axis.get_xscale() for axis in display.axes_] == ["log", "log", "linear"]
    income, visits = display.panels[:2]
    np.testing.assert_allclose(np.trapezoid(income.fitted, np.log10(income.at), axis=1), 1.0, atol=0.02)
    for panel in (income, visits):
        np.testing.assert_allclose((panel.data * np.diff(np.log10(panel.edges))).sum(axis=1), 1.0)
    # The density of log10 x of a log-normal is a normal one.
    mean, sd = np.log10(X["income"][y == 0]).mean(), np.log10(X["income"][y == 0]).std()
    np.testing.assert_allclose(income.fitted[0], stats.norm(mean, sd).pdf(np.log10(income.at)), atol=0.02)
    zeros = {**X, "income": np.where(X["income"] < 200, 0.0, X["income"])}
    model = NaiveBayes({**families, "income": "gaussian"}, calibrate=None).fit(zeros, y)
    assert not DensityDisplay.from_estimator(model, zeros, y, columns=["income"]).panels[0].log


@pytest.mark.parametrize("family", ["gaussian", "kernel", "poisson", "lognormal", "binned"])
def test_bins_of_whole_numbers_lie_between_them_and_hold_equally_many(family):
    x = np.concatenate([np.arange(3, 211), np.arange(3, 211)])
    y = np.repeat([0, 1], 208)
    panel = DensityDisplay.from_estimator(
        NaiveBayes(family, calibrate=None).fit({"x": x}, y), {"x": x}, y
    ).panels[0]
    assert (panel.edges % 1 == 0.5).all() and len(set(np.diff(panel.edges))) == 1
    assert panel.edges[0] == 2.5 and panel.edges[-1] >= 210.5
    # Every number occurs once in each class, so all full bins are equally high.
    np.testing.assert_allclose(panel.data[:, :-1], 1 / 208)
    X, y = log_rows()
    log = DensityDisplay.from_estimator(NaiveBayes("kernel", calibrate=None).fit(X, y), X, y).panels[1]
    assert log.log and (log.edges % 1 == 0.5).all() and log.edges[0] == 0.5
    assert (np.diff(log.edges, 2) >= 0).all()  # no bin is smaller than the one before


@pytest.mark.parametrize(
    "family", [sr.Kernel(lower=0), sr.Kernel(lower=0, boundary="log"), "gamma", "exponential"]
)
def test_neither_bins_nor_curves_go_below_a_bound(family):
    x = np.abs(np.random.default_rng(7).normal(size=300)) + 1e-6
    for cells in (x, np.floor(3 * x) + (not isinstance(family, sr.Kernel)), x + 0.1):
        if cells.min() == 0 and getattr(family, "boundary", "") == "log":
            continue
        y = np.arange(300) % 2
        model = NaiveBayes({"x": family}, calibrate=None).fit({"x": cells}, y)
        panel = DensityDisplay.from_estimator(model, {"x": cells}, y).panels[0]
        assert panel.edges[0] >= 0 and panel.at[0] >= 0
        assert np.isfinite(panel.fitted).all()
        np.testing.assert_allclose((panel.data * np.diff(panel.edges)).sum(axis=1), 1.0)


def test_shading_ends_with_the_data():
    x = np.abs(np.random.default_rng(8).normal(size=300))
    y = np.arange(300) % 2
    for family in ("gaussian", "kernel", "binned"):
        panel = DensityDisplay.from_estimator(NaiveBayes(family).fit({"x": x}, y), {"x": x}, y).panels[0]
        assert (panel.edges[0], panel.edges[-1]) == (x.min(), x.max())


def test_pages_have_all_columns_in_order():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 100)
    X = pd.DataFrame({f"c{j}": rng.normal(size=100) for j in range(30)})
    model = NaiveBayes("gaussian", calibrate=None).fit(X, y)
    pages = [DensityDisplay.from_estimator(model, X, y, page=page) for page in (0, 1)]
    assert [panel.name for page in pages for panel in page.panels] == list(X)
    assert pages[0].n_pages == 2 and pages[0].n_columns == 30
    assert pages[1].figure_.get_supxlabel() == "6 of 30 columns"
    with pytest.raises(ValueError, match="page is 2; the 30 columns have pages from 0 to 1"):
        DensityDisplay.from_estimator(model, X, y, page=2)


def test_the_legend_says_which_is_data_and_which_is_model(fitted):
    display = DensityDisplay.from_estimator(*fitted)
    texts = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert texts == ["a", "b", "shading: data", "line: model"]
    assert display.ax_ is display.axes_[0]
