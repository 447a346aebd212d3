"""`estimate` and `calibrate` of the estimators that scikit-learn does not have, and models that are not linear."""

from __future__ import annotations

import numpy as np
import pytest
import sunrise as sr
from scipy import stats

RNG = np.random.default_rng(4)
Y = RNG.integers(0, 2, 60)
COUNTS = RNG.poisson(2 + 2 * Y[:, None] * np.array([1, 0.5, 0]), (60, 3))
TEXTS = ["red wine", "dark beer beer", "red beer", "white wine wine wine"]


def posterior(log_likelihood):
    joint = log_likelihood + np.log(np.bincount(Y) / len(Y))
    return np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])


def test_poisson_rates_are_estimated_as_asked():
    sums = np.stack([COUNTS[c == Y].sum(axis=0) for c in (0, 1)])
    n = np.bincount(Y)[:, None]
    rates = {"mean": (2 + sums) / (3 + n), "map": (1 + sums) / (3 + n), "mle": sums / n}
    for estimate, rate in rates.items():
        model = sr.PoissonNB(prior_shape=2.0, prior_rate=3.0, estimate=estimate).fit(COUNTS, Y)
        np.testing.assert_allclose(model.rate_, rate, rtol=1e-12)
    model = sr.PoissonNB(prior_shape=2.0, prior_rate=3.0, estimate="predictive").fit(COUNTS, Y)
    p = (3 + n) / (4 + n)
    truth = np.stack([stats.nbinom.logpmf(COUNTS, 2 + sums[c], p[c]).sum(axis=1) for c in (0, 1)], axis=1)
    np.testing.assert_allclose(model.predict_proba(COUNTS), posterior(truth), rtol=1e-9)


def test_maximum_likelihood_without_the_shared_part():
    x = RNG.normal(size=(60, 1)) + Y[:, None]
    model = sr.KernelNB(bandwidth=0.4, estimate="mle").fit(x, Y)
    truth = [np.log(stats.norm.pdf(x, x[c == Y].T, 0.4).mean(axis=1)) for c in (0, 1)]
    np.testing.assert_allclose(model.predict_proba(x), posterior(np.stack(truth, axis=1)), atol=1e-6)
    assert np.abs(sr.KernelNB(bandwidth=0.4).fit(x, Y).predict_proba(x) - model.predict_proba(x)).max() > 1e-3
    urns = sr.DirichletMultinomialNB(estimate="mle"), sr.DirichletMultinomialNB(background=0.0)
    a, b = (urn.fit(COUNTS, Y).alpha_ for urn in urns)
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_words_with_integrated_probabilities_are_an_urn():
    """P(next word | words so far) = (count + 1 + words so far of this kind) / (total + V + words so far)."""
    y = np.array([0, 1, 1, 0])
    model = sr.TextNB("multinomial", estimate="predictive", calibrate=None).fit(TEXTS, y)
    words, document = sorted(set(" ".join(TEXTS).split())), ["wine", "wine", "red"]
    joint = []
    for c in (0, 1):
        urn = [
            1.0 + " ".join(t for t, k in zip(TEXTS, y, strict=True) if k == c).split().count(w) for w in words
        ]
        p = 0.5
        for word in document:
            p *= urn[words.index(word)] / sum(urn)
            urn[words.index(word)] += 1
        joint.append(p)
    np.testing.assert_allclose(
        model.predict_proba([" ".join(document)])[0], np.array(joint) / sum(joint), rtol=1e-9
    )
    told = model.explain_words(" ".join(document), of=0, against=1)
    assert sum(w.evidence for w in told) == pytest.approx(np.log(joint[0] / joint[1]), rel=1e-9)
    few = sr.TextNB("multinomial", estimate="predictive", calibrate=None, min_df=2).fit(TEXTS, y)
    kept = sr.TextNB("multinomial", estimate="predictive", calibrate=None).fit(
        [" ".join(w for w in t.split() if w in ("red", "wine", "beer")) for t in TEXTS], y
    )
    np.testing.assert_allclose(few.predict_proba(TEXTS), kept.predict_proba(TEXTS), rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: sr.KernelNB(estimate="predictive"),
            "estimate of KernelNB is 'predictive'.*Use one of mean, mle",
        ),
        (lambda: sr.DirichletMultinomialNB(estimate="map"), "estimate of DirichletMultinomialNB is 'map'"),
        (lambda: sr.PoissonNB(estimate="median"), "'estimate' parameter of PoissonNB must be"),
        (lambda: sr.PoissonNB(calibrate="isotonic"), "'calibrate' parameter of PoissonNB must be"),
    ],
)
def test_estimates_that_a_family_does_not_have_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make().fit(COUNTS, Y)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"estimate": "map"}, "TextNB with the model 'odds' is 'map'"),
        (
            {"model": "complement", "estimate": "predictive"},
            "'complement' is 'predictive'.*Use one of mean, map, mle",
        ),
        ({"model": "multinomial", "tf": "log", "estimate": "predictive"}, "whole words. Leave out tf"),
    ],
)
def test_estimates_that_words_do_not_have_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        sr.TextNB(**settings).fit(TEXTS, [0, 1, 1, 0])


@pytest.mark.parametrize("kind", ["temperature", "columns"])
@pytest.mark.parametrize(
    ("estimator", "family"),
    [
        (sr.PoissonNB, "poisson"),
        (sr.KernelNB, sr.Kernel(shared_bandwidth=True)),
        (sr.DirichletMultinomialNB, "dirichlet_multinomial"),
    ],
)
def test_calibration_is_that_of_naive_bayes_with_the_same_family(estimator, family, kind):
    model = estimator(calibrate=kind).fit(COUNTS, Y)
    same = sr.NaiveBayes(family, calibrate=kind).fit(COUNTS, Y)
    np.testing.assert_allclose(model.predict_proba(COUNTS), same.predict_proba(COUNTS), rtol=1e-6)
    assert model.calibration_.kind == kind and estimator().fit(COUNTS, Y).calibration_ is None
    again = model.predict_proba(COUNTS)
    np.testing.assert_allclose(model.recalibrate(COUNTS, Y).predict_proba(COUNTS), again, rtol=1e-9)


def test_a_model_that_is_not_linear_names_the_columns_in_the_way():
    table = {"k": COUNTS[:, 0] + 0.5, "l": COUNTS[:, 1] - 0.5, "g": COUNTS[:, 2]}
    model = sr.NaiveBayes({"k": "kernel", "l": "laplace", "g": "gaussian"}, calibrate=None).fit(table, Y)
    said = r"not linear. Column 'k': a kernel density has no linear form.*Column 'l': .*Laplace"
    with pytest.raises(ValueError, match=said) as caught:
        model.to_linear()
    assert "'g'" not in str(caught.value)
