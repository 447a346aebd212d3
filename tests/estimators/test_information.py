"""Mutual information of a column and the class, against tables, sums and integrals."""

from __future__ import annotations

import numpy as np
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import integrate, stats
from sunrise import BernoulliNB, GaussianNB, PoissonNB, engines

RNG = np.random.default_rng(11)


def test_murphys_table_of_words(find_data):
    data = np.load(find_data("xwindows.npz"))
    model = BernoulliNB().fit(data["X_train"], data["y_train"])
    words = data["vocabulary"].tolist()
    theta = np.exp(model.feature_log_prob_)
    bits = dict(zip(words, model.mutual_information(), strict=True))
    likely = [dict(zip(words, p, strict=True)) for p in theta]
    for printed, numbers in [
        (likely[0], {"subject": 0.998, "this": 0.628, "with": 0.535, "but": 0.471, "you": 0.431}),
        (likely[1], {"subject": 0.998, "windows": 0.639, "this": 0.540, "with": 0.538, "but": 0.518}),
        (bits, {"windows": 0.215, "microsoft": 0.095, "dos": 0.092, "motif": 0.078, "window": 0.067}),
    ]:
        top = sorted(printed, key=printed.get, reverse=True)[:5]
        assert {word: round(float(printed[word]), 3) for word in top} == numbers


def test_information_of_categories_is_that_of_their_table():
    k, y = RNG.integers(0, 4, 300), RNG.integers(0, 3, 300)
    model = NaiveBayes({"k": sr.Categorical(alpha=0.0, unseen="ignore")}).fit({"k": k}, y)
    joint = np.zeros((3, 4))
    np.add.at(joint, (y, k), 1 / 300)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    assert model.mutual_information()[0] == pytest.approx(
        (joint * np.log2(joint / independent)).sum(), abs=1e-12
    )


VON_MISES = ("concentration", "direction")


def log_normal(mean, sd):
    return stats.lognorm(sd, scale=np.exp(mean))


@pytest.mark.parametrize(
    "family, draw, distribution",
    [
        ("gaussian", lambda n: RNG.normal(size=n), lambda p, c: stats.norm(p["mean"][c], p["sd"][c])),
        (
            "lognormal",
            lambda n: RNG.lognormal(size=n),
            lambda p, c: log_normal(p["log mean"][c], p["log sd"][c]),
        ),
        ("exponential", lambda n: RNG.exponential(size=n), lambda p, c: stats.expon(scale=1 / p["rate"][c])),
        (
            "gamma",
            lambda n: RNG.gamma(3.0, size=n),
            lambda p, c: stats.gamma(p["shape"][c], scale=1 / p["rate"][c]),
        ),
        ("beta", lambda n: RNG.beta(2, 3, size=n), lambda p, c: stats.beta(p["a"][c], p["b"][c])),
        (
            "vonmises",
            lambda n: RNG.vonmises(1, 2, n),
            lambda p, c: stats.vonmises(*(p[name][c] for name in VON_MISES)),
        ),
        ("poisson", lambda n: RNG.poisson(4, n), lambda p, c: stats.poisson(p["rate"][c])),
        ("geometric", lambda n: RNG.geometric(0.3, n) - 1, lambda p, c: stats.geom(p["p"][c], loc=-1)),
    ],
)
def test_information_is_the_integral_of_the_densities(family, draw, distribution):
    y = np.repeat([0, 1, 2], [60, 30, 10])
    x = draw(100) * np.where(y == 1, 1.0 if family in ("beta", "vonmises") else 2.0, 1.0)
    x = np.where((y == 2) & (family == "beta"), x**3, x)
    model = NaiveBayes(family).fit({"x": x}, y)
    by_class = [distribution(model.parameters_["x"], c) for c in range(3)]
    density = "pmf" if family in ("poisson", "geometric") else "pdf"

    def told(c, v):
        at_v = [getattr(d, density)(v) for d in by_class]
        return at_v[c] * np.log2(at_v[c] / np.dot(model.class_prior_, at_v)) if at_v[c] > 0 else 0.0

    if density == "pmf":
        bits = sum(p * sum(told(c, v) for v in range(400)) for c, p in enumerate(model.class_prior_))
    else:
        ends = [(-np.pi, np.pi) if family == "vonmises" else d.ppf([1e-13, 1 - 1e-13]) for d in by_class]
        bits = sum(
            p * integrate.quad(lambda v, c=c: told(c, v), *ends[c], limit=500, epsabs=1e-11)[0]
            for c, p in enumerate(model.class_prior_)
        )
    assert model.mutual_information()[0] == pytest.approx(bits, abs=2e-7)
    assert 0 < bits < 1.3


def test_information_is_bounded_and_nothing_tells_nothing():
    sure = NaiveBayes().fit({"k": ["a", "b"] * 500, "x": RNG.normal(size=1000)}, ["u", "v"] * 500)
    bits = sure.mutual_information()
    assert bits[0] == pytest.approx(1.0, abs=0.05) and bits[0] <= 1.0 and 0 <= bits[1] < 0.05
    with engines.using("array"):
        np.testing.assert_array_equal(sure.mutual_information(), bits)
    with pytest.raises(ValueError, match="complement is not a distribution"):
        sr.ComplementNB().fit([[1, 0], [0, 1]], [0, 1]).mutual_information()


def bits_by_hand(distributions, prior, low, high):
    def told(v):
        p = np.array([d.pdf(v) for d in distributions])
        both = prior @ p
        return sum(w * q * np.log2(q / both) for w, q in zip(prior, p, strict=True) if q > 0)

    u = np.linspace(low, high, 400_001)  # on the logarithmic scale, where all of these are smooth
    return integrate.simpson([told(np.exp(v)) * np.exp(v) for v in u[::40]], x=u[::40])


def test_information_of_rates_that_are_large():
    model = PoissonNB.from_parameters([[1000.0], [1010.0]], classes=[0, 1], class_prior=[0.3, 0.7])
    x = np.arange(500, 1600)
    p = np.array([stats.poisson(rate).pmf(x) for rate in (1000, 1010)])
    both = 0.3 * p[0] + 0.7 * p[1]
    expected = sum(w * (q * np.log2(q / both)).sum() for w, q in zip((0.3, 0.7), p, strict=True))
    assert model.mutual_information()[0] == pytest.approx(expected, abs=1e-9)
    huge = PoissonNB.from_parameters([[1e10], [1e10 + 3e5]], classes=[0, 1]).mutual_information()[0]
    near = GaussianNB.from_parameters([[0.0], [3.0]], [[1.0], [1.0]], classes=[0, 1]).mutual_information()[0]
    assert huge == pytest.approx(near, rel=1e-3)


def test_information_of_distributions_that_span_decades():
    params = sr.families.gamma.GammaParams(np.array([[0.05], [0.1]]), np.ones((2, 1)), np.array([True]))
    from sunrise.selection.mutual_information import mutual_information

    prior = np.array([0.5, 0.5])
    expected = bits_by_hand([stats.gamma(0.05), stats.gamma(0.1)], prior, -690, 6)
    assert mutual_information(sr.Gamma(), params, prior)[0] == pytest.approx(expected, abs=2e-4)
    scales = [1.0, 1e-200, 1e200]
    found = []
    for scale in scales:
        rate = np.array([[1.0], [3.0]]) / scale
        found.append(
            mutual_information(
                sr.Exponential(), sr.families.exponential.ExponentialParams(rate, np.array([True])), prior
            )[0]
        )
    np.testing.assert_allclose(found, found[0], rtol=1e-6)


def test_rare_failures_and_classes_without_prior():
    log_q = np.log1p(-np.array([[1e-6], [3e-6]]))
    params = sr.families.geometric.GeometricParams(np.log([[1e-6], [3e-6]]), log_q, np.array([True]))
    from sunrise.selection.mutual_information import mutual_information

    smooth = sr.families.exponential.ExponentialParams(np.array([[1.0], [3.0]]), np.array([True]))
    prior = np.array([0.5, 0.5])
    expected = mutual_information(sr.Exponential(), smooth, prior)[0]
    assert mutual_information(sr.Geometric(), params, prior)[0] == pytest.approx(expected, rel=1e-4)
    model = GaussianNB().fit(
        np.r_[RNG.normal(size=(20, 1)), [[1e6]] * 2 + RNG.normal(size=(2, 1))], [0, 1] * 10 + [2, 2]
    )
    assert np.isfinite(model.with_class_prior([0.5, 0.5, 0.0]).mutual_information()).all()
    with pytest.raises(ValueError, match="no variance"):
        GaussianNB(var_smoothing=0).fit([[1.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).mutual_information()
