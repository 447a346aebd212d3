"""Evidence: exact fractions, integrals of prior times likelihood, chains of predictions; and priors chosen by it."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sunrise as sr
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import NaiveBayes
from scipy import integrate, sparse, stats
from sunrise import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    engines,
)

RNG = np.random.default_rng(12)
ESTIMATES = ("mean", "map", "predictive")


def evidence(family, x, y=None, **fit):
    """The log evidence of one column, of one class unless labels say more."""
    y = ["c"] * len(x) if y is None else y
    return NaiveBayes({"x": family}).fit({"x": x}, y, **fit).log_evidence_


def urn(alpha, draws):
    """Probability of draws one after the other from an urn that gets one more of what was drawn."""
    balls, p = [Fraction(a) for a in alpha], Fraction(1)
    for k in draws:
        p *= balls[k] / sum(balls)
        balls[k] += 1
    return p


def log(p):
    """Of a fraction, whatever its size."""
    return math.log(p.numerator) - math.log(p.denominator)


# Exact fractions.


@pytest.mark.parametrize(
    "a, b, exact",
    [
        (1, 1, Fraction(1, 60)),
        (Fraction(1, 2), Fraction(1, 2), Fraction(3, 256)),
        (2, 3, Fraction(2, 105)),
    ],
)
def test_murphys_coin(a, b, exact):
    # Exercise 3.2: 1, 0, 0, 1, 1 under a Beta(a, b).
    tosses = [1, 0, 0, 1, 1]
    assert urn([b, a], tosses) == exact
    found = evidence(sr.Bernoulli(alpha=float(a), beta=float(b)), tosses)
    assert float(found) == pytest.approx(log(exact), rel=1e-15)


def test_counts_two_one_and_none_of_three_levels():
    assert urn([1, 1, 1], [0, 0, 1]) == Fraction(1, 30)
    declared = CategoricalNB(min_categories=3).fit([[0], [0], [1]], [0, 0, 0]).log_evidence_
    coded = CategoricalNB().fit([[0], [0], [2]], [0, 0, 0]).log_evidence_  # 1 is possible, too
    for found in (declared, coded):
        assert float(found) == pytest.approx(log(Fraction(1, 30)), rel=1e-15)
    two = evidence(sr.Categorical(unseen="ignore"), ["u", "u", "v"])
    assert float(two) == pytest.approx(log(urn([1, 1], [0, 0, 1])), rel=1e-15)
    # With a reserve each cell has a known level with probability 1 - 1/6: 3 cells, 2 levels and a new one.
    reserved = evidence(sr.Categorical(), ["u", "u", "v"])
    assert float(reserved) == pytest.approx(log(urn([1, 1], [0, 0, 1]) * Fraction(5, 6) ** 3), rel=1e-15)


def test_levels_with_alphas_of_their_own():
    alpha = {"u": 0.5, "v": 2.0, "w": 0.25}
    draws = "uwwuvuu"
    found = evidence(sr.Categorical(alpha=alpha, unseen="ignore"), list(draws))
    assert float(found) == pytest.approx(log(urn(alpha.values(), ["uvw".index(k) for k in draws])))
    reserved = evidence(sr.Categorical(alpha=alpha), list(draws))
    new = 1 / (len(draws) + sum(alpha.values()) + 1)
    assert float(reserved) == pytest.approx(float(found) + len(draws) * math.log(1 - new))


@pytest.mark.parametrize("shape", [(), (3,), (2, 1), (2, 3)], ids=str)
def test_words_of_documents_are_drawn_from_one_urn_per_class(shape):
    x, y = np.array([[2, 0, 1], [0, 3, 1], [4, 0, 0]]), np.array([0, 1, 1])
    alpha = RNG.integers(1, 9, shape) / 4
    found = NaiveBayes(sr.Multinomial(alpha=alpha)).fit(x, y).log_evidence_
    for c in (0, 1):
        draws = np.repeat(np.arange(3), x[y == c].sum(axis=0))
        expected = log(urn(np.broadcast_to(alpha, (2, 3))[c], draws))
        assert found.columns["x0", "x1", "x2"][c] == pytest.approx(expected, rel=1e-13)


def test_the_labels_are_drawn_from_an_urn_of_one_each():
    y = list("abbacb")
    found = NaiveBayes("bernoulli").fit({"x": [1, 0, 0, 1, 1, 1]}, y).log_evidence_
    assert found.classes == pytest.approx(log(urn([1, 1, 1], ["abc".index(c) for c in y])), rel=1e-14)
    announced = NaiveBayes("bernoulli").partial_fit({"x": [1, 0]}, ["a", "b"], classes=list("abc"))
    assert announced.log_evidence_.classes == pytest.approx(log(urn([1, 1, 1], [0, 1])), rel=1e-14)


def test_the_whole_is_the_sum_of_its_parts():
    table = {"b": [1, 0, 0, 1], "k": list("uvuw"), "n": [3, 4, 0, 1], "w0": [1, 2, 0, 0], "w1": [0, 1, 1, 5]}
    families = {"b": "bernoulli", "k": "categorical", "n": "poisson", ("w0", "w1"): "multinomial"}
    found = NaiveBayes(families).fit(table, [0, 0, 1, 1]).log_evidence_
    assert isinstance(found, float) and set(found.columns) == {"b", "k", "n", ("w0", "w1")}
    assert all(part.shape == (2,) for part in found.columns.values())
    parts = [found.classes, *(p for part in found.columns.values() for p in part)]
    assert float(found) == pytest.approx(math.fsum(parts), rel=1e-15)
    for name in "bkn":
        alone = NaiveBayes({name: families[name]}).fit({name: table[name]}, [0, 0, 1, 1]).log_evidence_
        np.testing.assert_allclose(alone.columns[name], found.columns[name], rtol=1e-15)


# Integrals.


def one_parameter(prior, likelihood, x, low, high):
    return integrate.quad(
        lambda t: prior.pdf(t) * np.prod(likelihood(t, np.asarray(x))), low, high, epsabs=0, limit=400
    )[0]


@pytest.mark.parametrize(
    "family, x, prior, likelihood, ends",
    [
        (sr.Bernoulli(1.5, beta=0.7), [1, 1, 0, 1], stats.beta(1.5, 0.7), "bernoulli", (0, 1)),
        (sr.Poisson(2.5, 0.7), [2, 0, 3, 7], stats.gamma(2.5, scale=1 / 0.7), "poisson", (0, 60)),
        (sr.Geometric(1.5, 2.5), [2, 0, 3], stats.beta(1.5, 2.5), "geom", (0, 1)),
        (sr.Exponential(2.5, 3.0), [0.5, 2.0], stats.gamma(2.5, scale=1 / 3), "expon", (1e-12, 40)),
        (sr.Exponential(2.5, 3.0), [0.0, 0.0], stats.gamma(2.5, scale=1 / 3), "expon", (1e-12, 40)),
    ],
    ids=["bernoulli", "poisson", "geometric", "exponential", "exponential zeros"],
)
def test_evidence_is_prior_times_likelihood_integrated(family, x, prior, likelihood, ends):
    of = {
        "bernoulli": lambda t, x: stats.bernoulli(t).pmf(x),
        "poisson": lambda t, x: stats.poisson(t).pmf(x),
        "geom": lambda t, x: stats.geom(t, loc=-1).pmf(x),
        "expon": lambda t, x: stats.expon(scale=1 / t).pdf(x),
    }[likelihood]
    expected = np.log(one_parameter(prior, of, x, *ends))
    assert float(evidence(family, x)) == pytest.approx(expected, rel=1e-7)


def test_gaussian_evidence_is_an_integral_over_means_and_variances():
    def weight(m, v):
        prior = stats.norm.pdf(m, 0.0, np.sqrt(v)) * stats.invgamma.pdf(v, 1.0, scale=1.0)
        return (
            prior
            * np.prod(np.exp(-((np.array([1.0, 2.0, 3.0]) - m) ** 2) / (2 * v)))
            / (2 * np.pi * v) ** 1.5
        )

    # By the logarithm of the variance, and means within 12 of its roots: about 90 evaluations a side.
    expected = integrate.dblquad(
        lambda z, u: weight(z * np.exp(u / 2), np.exp(u)) * np.exp(1.5 * u), -4, 9, -12, 12, epsabs=1e-9
    )[0]
    found = evidence(sr.Gaussian(prior=(0.0, 1.0, 1.0, 1.0)), [1.0, 2.0, 3.0])
    assert np.exp(found) == pytest.approx(expected, rel=1e-5)
    assert float(found) == pytest.approx(-6.297187330939464367, rel=1e-15)


@pytest.mark.parametrize(
    "m, kappa, a, b", [(0.0, 1.0, 1.0, 1.0), (3.0, 0.01, 0.3, 5.0), (-1.0, 50.0, 20.0, 2.0)]
)
def test_gaussian_evidence_is_scipys_multivariate_t(m, kappa, a, b):
    x = RNG.normal(2.0, 3.0, 6)
    t = stats.multivariate_t(np.full(6, m), b / a * (np.eye(6) + 1 / kappa), df=2 * a)
    assert float(evidence(sr.Gaussian(prior=(m, kappa, a, b)), x)) == pytest.approx(t.logpdf(x), rel=1e-11)
    sizes = evidence(sr.LogNormal(prior=(m, kappa, a, b)), np.exp(x))
    assert float(sizes) == pytest.approx(t.logpdf(x) - x.sum(), rel=1e-11)


def test_one_variance_for_all_classes_is_integrated_once():
    x, y = np.array([1.0, 2.0, 3.0, 4.5, 9.0]), list("aabbc")
    same = np.equal.outer(y, y)  # cells of one class share their mean
    t = stats.multivariate_t(np.full(5, 0.5), 1.5 / 2.0 * (np.eye(5) + same / 0.7), df=4.0)
    found = evidence(sr.Gaussian(shared_variance=True, prior=(0.5, 0.7, 2.0, 1.5)), x, y)
    assert found.columns["x"].sum() == pytest.approx(t.logpdf(x), rel=1e-11)


def test_the_poisson_number_of_the_books():
    assert float(evidence(sr.Poisson(1.0, 1.0), [2, 0, 3])) == pytest.approx(
        log(Fraction(5, 2048)), rel=1e-15
    )
    alone = PoissonNB().fit([[2], [0], [3]], [0, 0, 0]).log_evidence_
    assert float(alone) == pytest.approx(-6.015181073725298029, rel=1e-15)


# Chains of predictions.

PROPER = {
    "gaussian": (sr.Gaussian(prior=(0.5, 0.8, 1.3, 2.0)), RNG.normal(1.0, 2.0, 7)),
    "lognormal": (sr.LogNormal(prior=(0.5, 0.8, 1.3, 2.0)), RNG.lognormal(0.5, 1.0, 7)),
    "bernoulli": (sr.Bernoulli(alpha=0.5, beta=1.5), np.array([1, 1, 0, 1, 0, 0, 1])),
    "categorical": (sr.Categorical(alpha=0.5, min_categories=3), np.array(list("uvuuwvu"))),
    "poisson": (sr.Poisson(0.5, 1.5), np.array([0, 3, 1, 12, 2, 0, 0])),
    "geometric": (sr.Geometric(0.5, 1.5), np.array([0, 3, 1, 12, 2, 0, 0])),
    "exponential": (sr.Exponential(0.5, 1.5), np.array([2.0, 0.1, 0.0, 7.0, 1.0, 0.3, 0.2])),
    "exponential from 0": (sr.Exponential(0.5, 1.5), np.array([0.0, 0.0, 7.0, 1.0])),
}


@pytest.mark.parametrize("name", [name for name in PROPER if name != "categorical"])
def test_evidence_is_the_product_of_one_step_predictions(name):
    family, x = PROPER[name]
    chain = float(evidence(family, x[:1]))
    for k in range(1, len(x)):
        past = NaiveBayes({"x": family}, estimate="predictive").fit({"x": x[:k]}, ["c"] * k)
        chain += past.score_samples({"x": x[k : k + 1]})[0]
        assert float(evidence(family, x[: k + 1])) == pytest.approx(chain, rel=1e-11), k


def test_evidence_of_levels_is_the_product_of_one_step_predictions():
    # All levels are known from the start: their number is taken from all rows.
    x, chain = [0, 1, 0, 0, 2, 1, 0], math.log(1 / 3)
    for k in range(1, len(x)):
        past = CategoricalNB(alpha=0.5, min_categories=3).fit(np.array(x[:k])[:, None], [0] * k)
        chain += past.score_samples([[x[k]]])[0]
    whole = CategoricalNB(alpha=0.5, min_categories=3).fit(np.array(x)[:, None], [0] * len(x))
    assert float(whole.log_evidence_) == pytest.approx(chain, rel=1e-13)


def test_evidence_of_documents_is_the_product_of_predictions_of_whole_rows():
    x = np.array([[2, 0, 1], [0, 3, 1], [4, 0, 0], [1, 1, 1]])
    family, chain = sr.Multinomial(alpha=[0.5, 1.0, 2.0]), 0.0
    whole = NaiveBayes(family).fit(x, [0] * 4).log_evidence_
    for k in range(1, 4):
        past = NaiveBayes(family, estimate="predictive").fit(x[:k], [0] * k)
        chain += past.score_samples(x[[k]])[0]
        # As sequences, so without the number of their orders.
        chain -= stats.multinomial(x[k].sum(), [1 / 3] * 3).logpmf(x[k]) - x[k].sum() * math.log(1 / 3)
    first = NaiveBayes(family).fit(x[:1], [0]).log_evidence_
    assert float(whole - first) == pytest.approx(chain, rel=1e-12)


def test_evidence_of_a_default_prior_is_that_of_its_numbers():
    x, y = RNG.gamma(2.0, size=20), np.arange(20) % 2
    for name, family in {
        "gaussian": sr.Gaussian,
        "lognormal": sr.LogNormal,
        "exponential": sr.Exponential,
    }.items():
        model = NaiveBayes(name).fit({"x": x}, y)
        given_back = evidence(family(prior=model.prior_["x"]), x, y)
        assert float(given_back) == pytest.approx(float(model.log_evidence_), rel=1e-13)


# Weights, missing cells, layouts.


@pytest.mark.parametrize("name", PROPER)
def test_weight_two_is_the_row_twice_and_missing_cells_are_skipped(name):
    family, x = PROPER[name]
    y = np.arange(len(x)) % 2
    weight = np.array([2.0, 1.0, 0.0, 3.0, 1.0, 1.0, 1.0])[: len(x)]
    repeated = np.repeat(np.arange(len(x)), weight.astype(int))
    weighed, twice = evidence(family, x, y, sample_weight=weight), evidence(family, x[repeated], y[repeated])
    assert float(weighed) == pytest.approx(float(twice), rel=1e-12)
    some = [*x.tolist(), None, None]
    found = evidence(family, some, [*y, 0, 1]).columns["x"]
    np.testing.assert_allclose(found, evidence(family, x, y).columns["x"], rtol=1e-13)
    nothing = NaiveBayes({"x": family, "z": family}).fit({"x": x.tolist(), "z": [None] * len(x)}, y)
    np.testing.assert_array_equal(nothing.log_evidence_.columns["z"], 0.0)


def test_a_count_that_is_missing_everywhere_is_not_in_the_block():
    x, y = np.array([[2, 0, 1], [0, 3, 1], [4, 0, 0.0]]), [0, 1, 1]
    whole = NaiveBayes("multinomial").fit(x, y).log_evidence_
    more = NaiveBayes("multinomial").fit(np.column_stack([x, np.full(3, np.nan)]), y).log_evidence_
    assert float(more) == pytest.approx(float(whole), rel=1e-13)


@pytest.mark.parametrize(
    "x", [[[1, 2, 3], [np.nan, 1, 0]], [[np.nan, 2], [3, np.nan]]], ids=["one", "in turn"]
)
def test_counts_some_of_which_are_missing_have_no_evidence_in_closed_form(x):
    assert math.isnan(NaiveBayes("multinomial").fit(np.array(x, dtype=float), [0, 0]).log_evidence_)


@pytest.mark.parametrize(
    "name", ["bernoulli", "multinomial", "poisson", "geometric", "gaussian", "exponential"]
)
def test_evidence_is_the_same_in_pieces_sparse_and_on_both_engines(name):
    x, y = RNG.integers(0, 2, (30, 3)).astype(float), np.arange(30) % 3
    whole = float(NaiveBayes(name).fit(x, y).log_evidence_)
    thin = NaiveBayes(name).fit(sparse.csr_array(x), y)
    parts = NaiveBayes(name).fit(x[20:], y[20:]).merge(NaiveBayes(name).fit(x[:20], y[:20]))
    with engines.using("array"):
        readable = NaiveBayes(name).fit(x, y)
    for model in (thin, parts, readable):
        assert float(model.log_evidence_) == pytest.approx(whole, rel=1e-12)


def test_the_estimate_is_no_part_of_the_evidence():
    for family, x in PROPER.values():
        of = [
            NaiveBayes({"x": family}, estimate=estimate).fit({"x": x}, ["c"] * len(x)).log_evidence_
            for estimate in ESTIMATES
        ]
        assert of[0] == of[1] == of[2] != 0


# No class part, and no evidence at all.


def test_given_and_equal_class_probabilities_have_no_part_of_their_own():
    table, y = {"x": [1, 0, 0, 1]}, list("aabb")
    fitted = NaiveBayes("bernoulli").fit(table, y)
    given_models = [
        NaiveBayes("bernoulli", class_prior="uniform").fit(table, y),
        NaiveBayes("bernoulli", class_prior=[0.3, 0.7]).fit(table, y),
        NaiveBayes("bernoulli", class_prior={"a": 0.3, "b": 0.7}).fit(table, y),
        fitted.with_class_prior("uniform"),
        BernoulliNB(fit_prior=False).fit(np.array([table["x"]]).T, y),
    ]
    assert fitted.log_evidence_.classes == pytest.approx(math.log(1 / 30))
    for model in given_models:
        assert model.log_evidence_.classes == 0
        assert float(model.log_evidence_) == pytest.approx(float(fitted.log_evidence_) - math.log(1 / 30))


IMPROPER = {
    "alpha 0 of yes": sr.Bernoulli(alpha=0.0),
    "beta 0 of yes": sr.Bernoulli(alpha=1.0, beta=0.0),
    "alpha 0 of levels": sr.Categorical(alpha=0.0),
    "alpha 0 of a level": sr.Categorical(alpha={"1": 0.0}),
    "alpha 0 of words": sr.Multinomial(alpha=0.0),
    "shape 0 of counts": sr.Poisson(0.0, 1.0),
    "rate 0 of counts": sr.Poisson(1.0, 0.0),
    "a 0 of failures": sr.Geometric(0.0, 1.0),
    "shape 0 of times": sr.Exponential(0.0, 1.0),
    "rate 0 of times": sr.Exponential(1.0, 0.0),
    "smoothing": sr.Gaussian(var_smoothing=0.1),
    "laplace": sr.Gaussian(laplace=True),
    "gamma": sr.Gamma(),
    "complement": sr.Complement(),
}


@pytest.mark.parametrize("family", IMPROPER.values(), ids=IMPROPER)
def test_without_a_proper_prior_the_evidence_is_nan(family):
    x = np.array([[1, 2], [2, 1], [1, 1], [3, 1]])
    x = np.minimum(x, 1) if family.name == "bernoulli" else x
    assert math.isnan(NaiveBayes({(0, 1): family}).fit(x, [0, 0, 1, 1]).log_evidence_)


@pytest.mark.parametrize("name", ["beta", "vonmises"])
def test_families_without_a_conjugate_prior_have_no_evidence(name):
    found = NaiveBayes(name).fit({"u": [0.2, 0.4, 0.6], "v": [0.3, 0.1, 0.7]}, [0, 0, 1]).log_evidence_
    assert math.isnan(found) and set(found.columns) == {"u", "v"}
    assert found.classes == pytest.approx(math.log(1 / 12))


@pytest.mark.parametrize("name", [name for name in PROPER if name != "exponential from 0"])
def test_maximum_likelihood_has_no_evidence(name):
    family, x = PROPER[name]
    model = NaiveBayes({"x": family}, estimate="mle").fit({"x": x}, ["c"] * len(x))
    assert math.isnan(model.log_evidence_)


def test_the_five_of_scikit_learn():
    x, y = np.array([[1, 0], [2, 1], [0, 3], [1, 1]]), [0, 0, 1, 1]
    for model in (GaussianNB(), GaussianNB(laplace=True), ComplementNB(), BernoulliNB(alpha=0)):
        assert math.isnan(model.fit(x, y).log_evidence_)
    for model in (BernoulliNB(), MultinomialNB(), CategoricalNB(), PoissonNB()):
        assert model.fit(x, y).log_evidence_ < 0


# The alpha of greatest evidence.


def log_urns(counts, alphas):
    """Log probabilities of counts as draws from urns, for many alphas: sums of logarithms, ball by ball."""
    alphas = np.asarray(alphas, dtype=float)[:, None]
    total = np.zeros(len(alphas))
    for row in np.asarray(counts):
        for k in row:
            total += np.log(alphas + np.arange(int(k))).sum(axis=1)
        total -= np.log(alphas * len(row) + np.arange(int(row.sum()))).sum(axis=1)
    return total


def chosen_for(counts):
    """What is chosen where every row of counts is a class."""
    model = MultinomialNB(alpha="evidence").fit(counts, np.arange(len(counts)))
    (chosen,) = model.chosen_.values()
    return chosen


DOCUMENTS = np.array([[5, 0, 1], [0, 4, 2], [3, 3, 0], [1, 0, 6]])
ALPHAS = np.logspace(-7, 7, 141)


def test_the_alpha_of_four_documents_to_all_digits():
    alpha, at_boundary = chosen_for(DOCUMENTS)
    assert alpha == pytest.approx(0.52407846893044471853, rel=1e-13) and not at_boundary
    with mpmath.workdps(40):

        def of(a):
            rising = (mpmath.log(mpmath.rf(a, int(k))) for k in DOCUMENTS.ravel())
            return sum(rising) - sum(mpmath.log(mpmath.rf(3 * a, int(n))) for n in DOCUMENTS.sum(axis=1))

        assert abs(mpmath.diff(of, mpmath.mpf(alpha))) < 1e-12


def test_the_chosen_alpha_is_the_one_that_smooths():
    model = MultinomialNB(alpha="evidence").fit(DOCUMENTS, [0, 1, 2, 3])
    (chosen,) = model.chosen_.values()
    given_it = MultinomialNB(alpha=chosen.value).fit(DOCUMENTS, [0, 1, 2, 3])
    np.testing.assert_array_equal(model.feature_log_prob_, given_it.feature_log_prob_)
    assert float(model.log_evidence_) == float(given_it.log_evidence_) and given_it.chosen_ == {}


@pytest.mark.parametrize(
    "family, x",
    [
        (sr.Bernoulli, RNG.random((40, 3)) < [0.1, 0.5, 0.8]),
        (sr.Categorical, RNG.integers(0, [2, 3, 6], (40, 3))),
        (sr.Multinomial, RNG.poisson([0.3, 2.0, 5.0], (40, 3))),
    ],
    ids=["bernoulli", "categorical", "multinomial"],
)
@pytest.mark.parametrize("missing", [False, True])
def test_no_other_alpha_has_more_evidence(family, x, missing):
    x, y = x.astype(float), np.arange(40) % 4
    if missing and family is not sr.Multinomial:
        x = np.where(RNG.random(x.shape) < 0.2, np.nan, x)
    model = NaiveBayes(family(alpha="evidence")).fit(x, y)
    (chosen,) = model.chosen_.values()
    assert not chosen.at_boundary
    scan = [0.5, 0.9, 0.999, 0.9999, 1.0001, 1.001, 1.1, 2.0, 0.01, 100.0]
    # The probability of an unseen category is a number when alpha is chosen: without a reserve it is 0.
    plain = {"unseen": "ignore"}
    others = [
        float(NaiveBayes(family(alpha=chosen.value * f), **plain).fit(x, y).log_evidence_) for f in scan
    ]
    best = NaiveBayes(family(alpha="evidence"), **plain).fit(x, y)
    assert best.chosen_ == model.chosen_ and max(others) < float(best.log_evidence_)


tables = st.lists(
    st.lists(st.sampled_from([0, 1, 2, 5, 20, 90]), min_size=3, max_size=3).filter(any),
    min_size=1,
    max_size=4,
)


@given(counts=tables)
@settings(max_examples=100)
def test_no_alpha_of_a_scan_has_more_evidence_than_the_chosen_one(counts):
    alpha, at_boundary = chosen_for(counts)
    scan, best = log_urns(counts, ALPHAS), log_urns(counts, [alpha])[0]
    assert scan.max() <= best + 1e-6 * abs(best)
    inner, ends = scan[20:-20].max(), max(scan[0], scan[-1])
    if abs(inner - ends) > 1e-9 * abs(best):  # where one of both is clearly higher
        assert at_boundary == (ends > inner)


@pytest.mark.parametrize(
    "counts",
    [
        [[8, 1], [2250, 2192]],
        [[14, 1], [375, 375], [29, 15], [1667, 1667]],
        [[22, 0], [2029, 2177], [2323, 2273], [1564, 1564], [1642, 1681]],
    ],
    ids=["infinity beats 3.3", "infinity beats 3.2", "2800 beats 1.7"],
)
def test_the_highest_of_two_peaks_is_found(counts):
    # A few counts that differ want a small alpha, many that are even a large one.
    alpha, at_boundary = chosen_for(counts)
    scan = log_urns(counts, ALPHAS)
    assert log_urns(counts, [alpha])[0] > scan.max() - 1e-3
    assert at_boundary == (np.argmax(scan) == len(scan) - 1)


@pytest.mark.parametrize(
    "counts",
    [
        [[5, 5], [5, 5]],
        [[1, 1]],
        [[0, 1, 1]],
        [[10, 12], [12, 10]],
        [[3, 3, 3], [60, 60, 60]],
        [[10**6] * 2] * 3,
    ],
)
def test_even_counts_want_an_infinite_alpha_and_say_so(counts):
    alpha, at_boundary = chosen_for(counts)
    assert at_boundary and alpha >= 1e6
    model = MultinomialNB(alpha="evidence").fit(counts, np.arange(len(counts)))
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), 1 / len(counts[0]), rtol=1e-2)


@pytest.mark.parametrize("counts", [[[5, 0], [0, 5]], [[2, 0]], [[300, 0, 0], [6, 0, 0]], [[0, 2], [0, 1]]])
def test_deterministic_counts_want_an_alpha_of_zero_and_say_so(counts):
    alpha, at_boundary = chosen_for(counts)
    assert at_boundary and 0 <= alpha <= 1e-6


@pytest.mark.parametrize(
    "model, x",
    [
        (MultinomialNB(alpha="evidence"), [[0, 0], [0, 0]]),
        (MultinomialNB(alpha="evidence"), [[3], [4]]),
        (BernoulliNB(alpha="evidence"), [[np.nan], [np.nan]]),
        (CategoricalNB(alpha="evidence"), [[0], [0]]),
        (CategoricalNB(alpha="evidence"), [[np.nan], [np.nan]]),
        (NaiveBayes(sr.Categorical(alpha="evidence", unseen="ignore")), [[1], [1]]),
        (NaiveBayes(sr.Bernoulli(alpha="evidence")), [[1], [0]]),
    ],
    ids=["no word", "one word", "nothing seen", "one level", "no level", "one name", "one row each"],
)
def test_cells_that_say_nothing_of_alpha_leave_a_sound_one(model, x):
    model = model.fit(np.array(x, dtype=float), [0, 1])
    for alpha, _ in model.chosen_.values():
        assert 0 < alpha < np.inf
    np.testing.assert_allclose(model.predict_proba(np.array(x, dtype=float)).sum(axis=1), 1.0)


def test_the_choice_does_not_depend_on_the_order_of_rows_classes_and_columns():
    x, y = RNG.poisson(2.0, (60, 4)), RNG.integers(0, 5, 60)
    expected = chosen = None
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows, columns = rng.permutation(60), rng.permutation(4)
        labels = rng.permutation(5)[y]
        for _ in range(2):
            model = MultinomialNB(alpha="evidence").fit(x[np.ix_(rows, columns)], labels[rows])
            (chosen,) = model.chosen_.values()
            expected = expected or chosen
            assert chosen == expected


def test_the_choice_is_made_of_the_sums_of_all_rows():
    x, y = RNG.integers(0, 3, (60, 2)).astype(float), RNG.integers(0, 3, 60)
    whole = NaiveBayes(sr.Categorical(alpha="evidence")).fit(x, y)
    parts = [NaiveBayes(sr.Categorical(alpha="evidence")).fit(x[k::3], y[k::3]) for k in range(3)]
    assert len({part.chosen_["x0", "x1"].value for part in parts}) == 3
    assert sum(parts).chosen_ == whole.chosen_
    undone = NaiveBayes(sr.Categorical(alpha="evidence")).fit(x, y).partial_fit(x[:9], y[:9])
    assert undone.chosen_ != whole.chosen_ and undone.forget(x[:9], y[:9]).chosen_ == whole.chosen_


def test_columns_of_their_own_blocks_have_their_own_choice():
    table = {"u": RNG.random(60) < 0.05, "v": RNG.random(60) < 0.5}
    y = np.arange(60) % 6
    apart = NaiveBayes({("u",): sr.Bernoulli("evidence"), ("v",): sr.Bernoulli("evidence")}).fit(table, y)
    together = NaiveBayes({("u", "v"): sr.Bernoulli("evidence")}).fit(table, y)
    assert list(apart.chosen_) == [("u",), ("v",)] and list(together.chosen_) == [("u", "v")]
    assert apart.chosen_["u",].value < together.chosen_["u", "v"].value < apart.chosen_["v",].value
    assert float(apart.log_evidence_) > float(together.log_evidence_)


def test_a_complement_has_no_evidence_to_choose_by():
    with pytest.raises(ValueError, match="'alpha' parameter of ComplementNB"):
        ComplementNB(alpha="evidence").fit(DOCUMENTS, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="complement has no evidence"):
        sr.Complement(alpha="evidence")


# The strength of greatest evidence.


def given_strength(name, x, y, s):
    """The prior of this strength, as it is described, worked out from the cells."""
    mean = x.mean()
    if name == "poisson":
        return sr.Poisson(s * mean, s)
    if name == "exponential":
        return sr.Exponential(s, s * mean)
    if name == "geometric":
        return sr.Geometric(s / (1 + mean), s * mean / (1 + mean))
    cells = np.log(x) if name == "lognormal" else x
    within = sum(((cells[y == c] - cells[y == c].mean()) ** 2).sum() for c in np.unique(y)) / len(y)
    prior = cells.mean(), s * within / cells.var(), 1 + s / 2, s * within / 2
    return (sr.LogNormal if name == "lognormal" else sr.Gaussian)(prior=prior)


STRENGTHS = {
    "gaussian": (sr.Gaussian(prior="evidence"), lambda c: RNG.normal(2 * c, 1 + c)),
    "lognormal": (sr.LogNormal(prior="evidence"), lambda c: RNG.lognormal(c, 0.5 + c / 4)),
    "poisson": (sr.Poisson(prior="evidence"), lambda c: RNG.poisson(1.0 + 3 * c)),
    "geometric": (sr.Geometric(prior="evidence"), lambda c: RNG.geometric(1 / (1 + 3 * c)) - 1),
    "exponential": (sr.Exponential(prior="evidence"), lambda c: RNG.exponential(1.0 + 3 * c)),
}
every_strength = pytest.mark.parametrize("name", STRENGTHS)


def cells(name, n=60):
    y = np.arange(n) % 4
    return np.array([STRENGTHS[name][1](c) for c in y], dtype=float), y


@every_strength
def test_no_other_strength_has_more_evidence(name):
    x, y = cells(name)
    model = NaiveBayes({"x": STRENGTHS[name][0]}).fit({"x": x}, y)
    strength, at_boundary = model.chosen_["x",]
    assert not at_boundary
    assert float(evidence(given_strength(name, x, y, strength), x, y)) == pytest.approx(
        float(model.log_evidence_), rel=1e-12
    )
    for s in [*np.logspace(-6, 6, 25), *strength * np.array([0.9, 0.99, 0.999, 1.001, 1.01, 1.1])]:
        assert float(evidence(given_strength(name, x, y, s), x, y)) < float(model.log_evidence_)


@every_strength
def test_the_chosen_prior_is_the_one_that_is_used_and_can_be_passed_back(name):
    x, y = cells(name)
    model = NaiveBayes({"x": STRENGTHS[name][0]}).fit({"x": x}, y)
    again = NaiveBayes({"x": type(STRENGTHS[name][0])(prior=model.prior_["x"])}).fit({"x": x}, y)
    np.testing.assert_allclose(
        again.predict_joint_log_proba({"x": x}), model.predict_joint_log_proba({"x": x}), rtol=1e-12
    )
    assert again.chosen_ == {} and float(again.log_evidence_) == pytest.approx(float(model.log_evidence_))


@every_strength
def test_a_strength_does_not_depend_on_the_order_of_rows_or_on_pieces(name):
    x, y = cells(name)
    family = {"x": STRENGTHS[name][0]}
    whole = NaiveBayes(family).fit({"x": x}, y).chosen_["x",]
    assert NaiveBayes(family).fit({"x": x}, y).chosen_["x",] == whole
    order = RNG.permutation(len(x))
    turned = NaiveBayes(family).fit({"x": x[order]}, y[order]).chosen_["x",]
    halves = [NaiveBayes(family).fit({"x": x[k:][:30]}, y[k:][:30]) for k in (30, 0)]
    for strength, at_boundary in (turned, (halves[0] + halves[1]).chosen_["x",]):
        assert strength == pytest.approx(whole.value, rel=1e-5) and not at_boundary


@every_strength
def test_classes_that_are_all_the_same_want_an_infinite_strength_and_say_so(name):
    # They fit best with the column's own parameters, so the evidence grows for ever.
    for own in ([1, 2], [1, 3], [1, 4], [2, 3], [1, 2, 4], [1, 2, 5], [2, 3, 7], [1, 2, 3, 4]):
        x, y = np.tile(own, 3), np.repeat([0, 1, 2], len(own))
        strength, at_boundary = NaiveBayes({"x": STRENGTHS[name][0]}).fit({"x": x}, y).chosen_["x",]
        assert at_boundary and strength >= 1e6, (own, strength)


@every_strength
def test_an_ever_stronger_prior_is_a_parameter_that_is_known(name):
    x = np.array([2.0, 1.0, 3.0, 5.0])
    mean, logs = x.mean(), np.log(x)
    known = {
        "gaussian": stats.norm(mean, x.std()).logpdf,
        "lognormal": stats.lognorm(logs.std(), scale=np.exp(logs.mean())).logpdf,
        "poisson": stats.poisson(mean).logpmf,
        "geometric": stats.geom(1 / (1 + mean), loc=-1).logpmf,
        "exponential": stats.expon(scale=mean).logpdf,
    }[name]
    found = evidence(given_strength(name, x, np.zeros(4), 1e10), x)
    assert float(found) == pytest.approx(known(x).sum(), abs=5e-6)


@pytest.mark.parametrize("alpha", [10**2, 10**5, 10**8])
def test_evidence_keeps_its_digits_under_a_large_alpha(alpha):
    draws = [0, 0, 1, 0, 1, 0, 0]
    expected = log(urn([alpha, alpha], draws))
    assert float(evidence(sr.Bernoulli(alpha=alpha), draws)) == pytest.approx(expected, rel=1e-12)
    assert float(evidence(sr.Categorical(alpha=alpha, unseen="ignore"), draws)) == pytest.approx(
        expected, rel=1e-12
    )
    words = MultinomialNB(alpha=alpha).fit([[5, 2]], [0]).log_evidence_
    assert float(words) == pytest.approx(expected, rel=1e-12)


@every_strength
def test_several_columns_share_one_strength(name):
    (u, y), (v, _) = cells(name), cells(name)
    model = NaiveBayes(STRENGTHS[name][0]).fit({"u": u, "v": v}, y)
    strength, _ = model.chosen_["u", "v"]

    def total(s):
        return sum(evidence(given_strength(name, x, y, s), x, y).columns["x"].sum() for x in (u, v))

    best = float(model.log_evidence_) - model.log_evidence_.classes
    assert total(strength) == pytest.approx(best, rel=1e-12)
    assert all(total(s) < best for s in [*np.logspace(-4, 4, 9), strength * 0.95, strength * 1.05])


@pytest.mark.parametrize("name", ["poisson", "geometric", "exponential"])
def test_a_column_of_zeros_beside_others_takes_no_evidence_away(name):
    x, y = cells(name)
    alone = NaiveBayes(STRENGTHS[name][0]).fit({"x": x}, y)
    with_zeros = NaiveBayes(STRENGTHS[name][0]).fit({"x": x, "z": np.zeros(len(x))}, y)
    assert with_zeros.chosen_["x", "z"].value == pytest.approx(alone.chosen_["x",].value, rel=1e-5)
    assert np.isfinite(with_zeros.log_evidence_.columns["x"]).all()
    assert not math.isnan(with_zeros.log_evidence_)


def test_a_prior_by_evidence_holds_for_every_estimate():
    x, y = cells("gaussian")
    family = {"x": STRENGTHS["gaussian"][0]}
    models = [NaiveBayes(family, estimate=estimate).fit({"x": x}, y) for estimate in ESTIMATES]
    assert len({model.chosen_["x",].value for model in models}) == 1
    # Under maximum likelihood there is no prior, and nothing to choose.
    free = NaiveBayes(family, estimate="mle").fit({"x": x}, y)
    plain = NaiveBayes("gaussian", estimate="mle").fit({"x": x}, y)
    np.testing.assert_array_equal(
        free.predict_joint_log_proba({"x": x}), plain.predict_joint_log_proba({"x": x})
    )


def test_before_fit_there_is_no_evidence():
    for name in ("log_evidence_", "chosen_"):
        with pytest.raises(AttributeError, match=name):
            getattr(NaiveBayes(), name)
    assert NaiveBayes("bernoulli").fit({"x": [1, 0]}, [0, 1]).chosen_ == {}
