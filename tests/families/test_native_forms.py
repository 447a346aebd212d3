"""Forms that Rust scores by logarithms and rising factorials, compared with SciPy, mpmath and the array engine."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import mpmath
import numpy as np
import pytest
import sunrise as sr
from scipy import sparse, stats
from sunrise import engines
from sunrise.data.blocks import Batch, DenseBlock
from sunrise.engines import array, native
from sunrise.families.base import FAMILIES, Family
from sunrise.families.geometric import GeometricParams
from sunrise.families.poisson import PoissonParams
from sunrise.forms.distance import Distance
from sunrise.forms.pointwise import Pointwise
from sunrise.forms.rising import Rising
from sunrise.numerics.conjugate import Beta, Gamma
from sunrise.statistics.support import REAL, WHOLE_COUNTS
from sunrise.statistics.terms import X

WHOLE = ("poisson", "geometric", "negative_binomial")
KINDS = {
    "gaussian": lambda rng, shape: rng.normal(3.0, 2.0, shape),
    "lognormal": lambda rng, shape: rng.lognormal(0.0, 1.0, shape),
    "exponential": lambda rng, shape: rng.exponential(2.0, shape),
    "laplace": lambda rng, shape: rng.laplace(3.0, 2.0, shape),
    "poisson": lambda rng, shape: rng.poisson(4.0, shape).astype(float),
    "geometric": lambda rng, shape: rng.geometric(0.2, shape) - 1.0,
    "negative_binomial": lambda rng, shape: rng.negative_binomial(2.0, 0.3, shape).astype(float),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def fitted(kind, n=300, columns=11, missing=0.1, seed=0, **settings):
    rng = np.random.default_rng(seed)
    x, y = KINDS[kind](rng, (n, columns)), rng.integers(0, 3, n)
    x[y == 2] *= 1.0 if kind in WHOLE else 1.5
    x[rng.random(x.shape) < missing] = np.nan
    settings = {"calibrate": None, "estimate": "predictive"} | settings
    return sr.NaiveBayes(kind, **settings).fit(x, y), x, y


def joint(model, x):
    """Joint log scores by both engines."""
    found = []
    for engine in ("native", "array"):
        with engines.using(engine):
            found.append(model.predict_joint_log_proba(x))
    return found


@every_kind
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("columns", [1, 3, 4, 9, 300])
def test_engines_agree_for_every_number_of_columns(kind, missing, columns):
    model, x, _ = fitted(kind, 130, columns, missing)
    one, other = joint(model, x)
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-11)


@every_kind
def test_no_cell_is_scored_in_python(kind):
    model, x, _ = fitted(kind)
    with mock.patch.object(array, "sum_cells", side_effect=AssertionError):
        model.predict_proba(x)
        if kind != "lognormal":
            model.predict_proba(sparse.csr_array(np.nan_to_num(x)))


@every_kind
def test_sparse_rows_and_rows_alone_score_the_same(kind):
    if kind == "lognormal":
        return  # zeros are not positive
    model, x, _ = fitted(kind, missing=0.0)
    x[np.random.default_rng(1).random(x.shape) < 0.5] = 0.0
    whole = model.predict_log_proba(x)
    np.testing.assert_array_equal(model.predict_log_proba(sparse.csr_array(x)), whole)
    np.testing.assert_array_equal(model.predict_log_proba(x[:1]), whole[:1])


def test_the_predictive_density_of_a_gaussian_is_a_student_t():
    model, x, _ = fitted("gaussian", columns=1, missing=0.0)
    form = model._model.forms[0]
    assert isinstance(form, Distance)
    a, scale = -form.power[0, 0] - 0.5, 1.0 / form.scale[0, 0]
    truth = stats.t(2.0 * a, form.anchor[0, 0], scale / np.sqrt(2.0 * a)).logpdf(x[:, 0])
    np.testing.assert_allclose(form.cells(x)[:, 0, 0], truth, rtol=1e-12)


def exact_beta_geometric(a, b, x):
    """The probability a b (b + 1) ... (b + x - 1) / ((a + b) ... (a + b + x)) as a fraction."""
    p = Fraction(a)
    for k in range(x):
        p *= Fraction(b) + k
    for k in range(x + 1):
        p /= Fraction(a) + Fraction(b) + k
    return p


@pytest.mark.parametrize("a, b", [(3, 5), (200, 7), (1, 1000), (1000, 1000)])
def test_a_predictive_geometric_count_has_its_exact_probability(a, b):
    family = sr.Geometric(estimate="predictive")
    known = np.array([True])
    form = family.form(
        GeometricParams(*(np.zeros((1, 1)),) * 2, known, Beta(np.array([[float(a)]]), np.array([[float(b)]])))
    )
    assert isinstance(form, Rising)
    for x in (0, 1, 2, 10, 300):
        truth = mpmath.log(mpmath.mpf(1) * exact_beta_geometric(a, b, x).numerator) - mpmath.log(
            exact_beta_geometric(a, b, x).denominator
        )
        for found in scored(form, [x]):
            assert abs(found[0] - float(truth)) <= 1e-11


@pytest.mark.parametrize("shape, rate", [(0.5, 2.0), (30.0, 10.0), (1e6, 1e5), (3.0, 1e-4)])
def test_a_predictive_poisson_count_has_the_probability_of_mpmath(shape, rate):
    posterior = Gamma(np.array([[shape]]), np.array([[rate]]))
    params = PoissonParams(np.ones((1, 1)), np.array([True]), posterior)
    form = sr.Poisson(estimate="predictive").form(params)
    counts = [0, 1, 7, 50, 3000, 100_000]
    with mpmath.workdps(40):
        a, b = mpmath.mpf(shape), mpmath.mpf(rate)
        truth = [
            float(
                mpmath.loggamma(a + x)
                - mpmath.loggamma(a)
                + a * mpmath.log(b / (b + 1))
                - x * mpmath.log(b + 1)
            )
            for x in counts
        ]
    for found in scored(form, counts):
        np.testing.assert_allclose(found, truth, rtol=1e-13, atol=1e-11)


def scored(form, counts):
    """Scores of counts by the form itself and by Rust, for the only class."""
    x = np.array(counts, dtype=float)[:, None]
    batch = Batch(len(x), (DenseBlock(x),))
    rust, _ = native.score(batch, (WHOLE_COUNTS,), (form,), np.zeros(1), np.zeros(1), "joint", 1)
    return form.cells(x)[:, 0, 0], rust[:, 0]


@pytest.mark.parametrize("curve", ["log", "log square"])
@pytest.mark.parametrize("scale", [1e-290, 1e-8, 1.0, 1e290])
def test_logarithms_of_distances_are_exact_to_the_ends_of_the_floats(curve, scale):
    part = np.ones((1, 1))
    form = Distance(curve, 0.0 * part, 0.0 * part, scale * part, part)
    x = np.array([0.0, 5e-324, 1e-300, 1e-20, 1e-8, 1e-3, 0.4, 1.0, 2.0, 1e8, 1e200, 1.7e308])[:, None]
    with mpmath.workdps(700):
        u = [mpmath.mpf(float(cell)) * mpmath.mpf(scale) for cell in x[:, 0]]
        truth = [float(mpmath.log1p(v * v if curve == "log square" else v)) for v in u]
    batch = Batch(len(x), (DenseBlock(x),))
    rust, _ = native.score(batch, (REAL,), (form,), np.zeros(1), np.zeros(1), "joint", 1)
    for found in (form.cells(x)[:, 0, 0], rust[:, 0]):
        np.testing.assert_allclose(found, truth, rtol=1e-14, atol=1e-300)


def test_many_rows_keep_twelve_digits_of_the_log_density():
    # A power of 150,000 multiplies the error of every logarithm.
    part = np.full((1, 8), 1.0)
    form = Distance("log square", 0 * part, 0 * part, 0.0018 * part, -150_000.0 * part)
    x = np.random.default_rng(0).normal(0.0, 1.0, (200, 8))
    with mpmath.workdps(40):
        truth = [
            float(sum(-150_000 * mpmath.log1p((mpmath.mpf(0.0018) * mpmath.mpf(float(v))) ** 2) for v in row))
            for row in x
        ]
    rust, _ = native.score(
        Batch(200, (DenseBlock(x),)), (REAL,), (form,), np.zeros(1), np.zeros(1), "joint", 1
    )
    np.testing.assert_allclose(rust[:, 0], truth, rtol=0, atol=1e-12)


@every_kind
def test_weights_multiply_and_a_weight_of_0_hides_everything(kind):
    model, x, _ = fitted(kind, columns=3)
    form = model._model.forms[0]
    views = x if kind != "lognormal" else np.log(x)
    weights = np.array([0.0, 0.5, 2.0])
    np.testing.assert_allclose(form.times(weights).cells(views), form.cells(views) * weights, rtol=1e-12)


@every_kind
def test_cells_outside_the_support_are_refused_by_both_engines(kind):
    model, x, _ = fitted(kind)
    for bad in (np.inf, -1.0, 0.5):
        if (kind in ("gaussian", "laplace") and bad != np.inf) or (
            kind in ("exponential", "lognormal") and bad == 0.5
        ):
            continue
        wrong = x.copy()
        wrong[70, 3] = bad
        said = []
        for engine in ("native", "array"):
            with engines.using(engine), pytest.raises(ValueError, match="column") as error:
                model.predict(wrong)
            said.append(str(error.value))
        assert said[0] == said[1]


@every_kind
def test_models_are_pickled(kind):
    model, x, _ = fitted(kind)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))


def test_a_family_of_ones_own_with_any_function_is_scored_in_python():
    @dataclass(frozen=True)
    class Cauchy(Family):
        terms = (X,)

        @property
        def support(self):
            return REAL

        def params(self, stats, class_weight):
            return PoissonParams(stats.mean, np.ones(stats.x.shape[1], bool))

        def form(self, params):
            return Pointwise(lambda x: -np.log1p((x - params.rate) ** 2))

        def describe(self, params):
            return [{"centre": centre} for centre in params.rate.T]

    Cauchy.name = "cauchy"
    FAMILIES["cauchy"] = Cauchy
    try:
        x, y = np.array([[0.0], [1.0], [9.0], [11.0]]), np.array([0, 0, 1, 1])
        one, other = joint(sr.NaiveBayes(Cauchy(), calibrate=None).fit(x, y), np.array([[0.0], [np.nan]]))
    finally:
        del FAMILIES["cauchy"]
    np.testing.assert_allclose(one, other)
    np.testing.assert_allclose(
        one, [[np.log(0.5) - np.log(1.25), np.log(0.5) - np.log(101)], [np.log(0.5)] * 2]
    )
