"""Leave-one-out of documents against refits without the document, written here in plain NumPy.

Given to the refits: the inverse document frequencies, the words that the model uses and their number. A word that no
other document has is unknown to them: it is not scored, and the document is scaled by the length of its other words.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sunrise as sr
from scipy.special import gammaln
from sklearn.feature_extraction.text import CountVectorizer
from sunrise import engines


def drawn(seed, n=40, n_words=70):
    """Documents of one to fourteen words; many words are rare."""
    rng = np.random.default_rng(seed)
    words, y = np.array([f"w{k:02d}" for k in range(n_words)]), rng.integers(0, 3, n)
    rare = 1.0 / np.arange(1, n_words + 1)
    texts = []
    for c in y:
        share = rare * np.where(np.arange(n_words) % 3 == c, 3.0, 1.0)
        texts.append(" ".join(rng.choice(words, rng.integers(1, 15), p=share / share.sum())))
    return texts, np.array(list("abc"))[y]


DEFAULTS = {
    "odds": {"tf": "log", "length": 0.7, "idf": 0.5, "alpha": 0.1},
    "bernoulli": {"tf": "binary", "length": 0.0, "idf": 0.0, "alpha": 1.0},
}
PLAIN = {"tf": "count", "length": 0.0, "idf": 0.0, "alpha": 1.0}


class Truth:
    """Refits of a text model, one for each document."""

    def __init__(self, texts, y, model="odds", min_df=1, total=None, idf_first=False, norm=False, **settings):
        self.counts = np.asarray(CountVectorizer().fit_transform(texts).todense(), dtype=float)
        self.model, self.min_df, self.total, self.idf_first, self.norm = model, min_df, total, idf_first, norm
        self.estimate = settings.pop("estimate", "mean")
        own = {**PLAIN, **DEFAULTS.get(model, {}), **settings}
        self.tf, self.length, self.idf, self.alpha = own["tf"], own["length"], own["idf"], own["alpha"]
        self.classes, self.y = np.unique(y, return_inverse=True)
        n = len(y)
        df = (self.counts > 0).sum(axis=0)
        self.used = df >= (min_df if isinstance(min_df, int) else min_df * n)
        self.u = np.where(self.used, np.log(n / df) ** self.idf if self.idf else 1.0, 0.0)

    def scaled(self, counts):
        x = {"log": np.log1p, "count": np.asarray, "binary": lambda x: (x > 0) * 1.0}[self.tf](counts)
        x = x * self.u if self.idf_first else x
        if self.total is not None:
            x = x * self.total / x.sum() if x.any() else x
        elif x.any():
            x = x / np.sqrt((x * x).sum()) ** self.length
        return x * self.used if self.idf_first else x * self.u

    def scores(self, i):
        rest = np.delete(np.arange(len(self.y)), i)
        df = (self.counts[rest] > 0).sum(axis=0)
        limit = self.min_df if isinstance(self.min_df, int) else self.min_df * len(rest)
        x = self.scaled(np.where(df > 0, self.counts[i], 0.0))
        known = self.used & (df >= max(limit, 1))
        x = np.where(known, x, 0.0)
        z = np.array([self.scaled(row) for row in self.counts[rest]])
        own = np.array([z[self.y[rest] == c].sum(axis=0) for c in range(len(self.classes))])
        n = np.bincount(self.y[rest], minlength=len(self.classes))
        prior = np.log(n / n.sum()) if self.model != "complement" else np.zeros(len(n))
        with np.errstate(divide="ignore", invalid="ignore"):
            words = np.array([self.words(c, x, own, n, known) for c in range(len(n))])
        return words + prior

    def words(self, c, x, own, n, known):
        """The score of a document for class c, given the sums of all classes and their numbers of documents."""
        a = 0.0 if self.estimate == "mle" else self.alpha

        def shares(sums):
            smooth = np.where(self.used, np.maximum(sums + a - (self.estimate == "map"), 0.0), 0.0)
            return smooth / smooth.sum()

        def product(weights):
            return float(np.where(x > 0, x * weights, 0.0).sum())

        others = own.sum(axis=0) - own[c]
        others[np.abs(others) < 1e-12] = 0.0
        if self.model == "odds":
            return product(np.log(shares(own[c])) - np.log(shares(others)))
        if self.model == "complement":
            logs = np.where(self.used, np.log(shares(others)), 0.0)
            return product(logs / logs.sum() if self.norm else -logs)
        if self.model == "bernoulli":
            p = (own[c] + a) / (n[c] + 2 * a)
            return product(np.log(p)) + float(np.log(1 - p)[known & (x == 0)].sum())
        if self.estimate == "predictive":
            smooth = (own[c] + a)[self.used]
            rising = gammaln(smooth + x[self.used]) - gammaln(smooth)
            return float(rising.sum() - gammaln(smooth.sum() + x.sum()) + gammaln(smooth.sum()))
        return product(np.log(shares(own[c])))

    def log_proba(self):
        scores = np.array([self.scores(i) for i in range(len(self.y))])
        top = scores.max(axis=1, keepdims=True)
        return scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))


SETTINGS = {
    "odds": {},
    "odds, at least two": {"min_df": 2},
    "odds, at least a share": {"min_df": 0.07},
    "odds, unsmoothed": {"estimate": "mle", "alpha": 0.0},
    "odds, total": {"total": 5.0},
    "odds, plain": {"tf": "count", "length": 0.0, "idf": 0.0},
    "odds, idf first": {"idf_first": True, "idf": 1.0, "length": 1.0},
    "multinomial": {"model": "multinomial"},
    "multinomial, at least two": {"model": "multinomial", "min_df": 2, "alpha": 0.3},
    "multinomial, weighted": {"model": "multinomial", "tf": "log", "length": 0.5, "idf": 1.0},
    "multinomial, predictive": {"model": "multinomial", "estimate": "predictive"},
    "multinomial, mode": {"model": "multinomial", "estimate": "map", "alpha": 1.5},
    "complement": {"model": "complement"},
    "complement, at least two": {"model": "complement", "min_df": 2},
    "complement, divided": {"model": "complement", "norm": True},
    "complement, mode": {"model": "complement", "estimate": "map", "alpha": 1.5},
    "complement, weighted": {"model": "complement", "tf": "log", "length": 1.0, "idf": 1.0},
    "bernoulli": {"model": "bernoulli"},
    "bernoulli, at least two": {"model": "bernoulli", "min_df": 2},
}


@pytest.mark.parametrize("engine", engines.ENGINES)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_documents_are_left_out_as_if_they_were_new(settings, engine):
    texts, y = drawn(3)
    with engines.using(engine):
        model = sr.TextNB(**settings, calibrate=None).fit(texts, y)
        found = model.leave_one_out(texts, y)
    own = {name: value for name, value in settings.items() if (name, value) != ("alpha", 0.0)}
    truth = Truth(
        texts, y, **own | ({"estimate": "mean", "alpha": 1e-10} if len(own) < len(settings) else {})
    )
    np.testing.assert_allclose(found, truth.log_proba(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", ["odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial"])
def test_a_document_of_unknown_words_has_the_class_prior(model):
    texts, y = ["alpha beta", "beta gamma", "gamma beta", "zeta eta", "alpha gamma beta"], list("aabba")
    fitted = sr.TextNB(model, calibrate=None).fit(texts, y)
    found = fitted.leave_one_out(texts, y)[3]
    if model in ("odds", "multinomial"):
        np.testing.assert_allclose(np.exp(found), [0.75, 0.25])
    elif model == "complement":
        np.testing.assert_allclose(np.exp(found), [0.5, 0.5])
    assert np.isfinite(found).all()


def test_columns_of_counts_stay_columns():
    X, y = np.array([[1, 0, 0], [0, 2, 0], [1, 1, 0], [0, 0, 3]]), [0, 1, 0, 1]
    found = sr.MultinomialNB().fit(X, y).leave_one_out(X, y)
    theta = np.array([[2, 1, 0], [0, 2, 0]]) + 1.0  # the last row is the only one with its column
    truth = 3 * np.log(theta[:, 2] / theta.sum(axis=1)) + np.log([2 / 3, 1 / 3])
    np.testing.assert_allclose(found[3], truth - np.log(np.exp(truth).sum()))


@pytest.mark.parametrize("model", ["odds", "multinomial", "bernoulli"])
def test_a_weight_is_left_out_with_its_document(model):
    texts, y = drawn(5)
    w = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    w[:6] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = (
            sr.TextNB(model, idf=0.0 if model == "odds" else None, calibrate=None)
            .fit(texts, y, w)
            .leave_one_out(texts, y, w)
        )
    assert np.isfinite(found).all()
    repeated = np.repeat(np.arange(len(y)), w.astype(int))
    ones = np.flatnonzero(w == 1)
    rest = [texts[k] for k in repeated]
    again = sr.TextNB(model, idf=0.0 if model == "odds" else None, calibrate=None).fit(rest, y[repeated])
    expected = again.leave_one_out(rest, y[repeated])
    # Documents of weight 1 whose words all occur in documents of weight 1 as well are left out in the same way.
    at = {int(k): place for place, k in enumerate(repeated)}
    counts = CountVectorizer().fit_transform(texts).toarray() > 0
    often = counts[w > 0].sum(axis=0) > 1
    same = [k for k in ones if often[counts[k]].all()]
    assert len(same) > 3
    np.testing.assert_allclose(found[same], expected[[at[int(k)] for k in same]], rtol=1e-9, atol=1e-9)
