"""Algebra of models: random additions, removals and decays against a weighted fit on the rows that remain."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pytest
import sunrise as sr
from laws.test_laws import ALL, draw
from sunrise import engines
from sunrise.statistics.bursts import Bursts
from sunrise.statistics.counts import Counts
from sunrise.statistics.empirical import Values
from sunrise.statistics.moments import Moments

pytestmark = [
    pytest.mark.filterwarnings("ignore::sunrise.LostPrecisionWarning"),  # the bounds below allow for it
    pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning"),
    pytest.mark.filterwarnings("ignore::sunrise.NoWordsWarning"),
]

LABELS = np.array(["a", "b", "c"])
TEXTS = {
    f"text-{model}": lambda model=model: sr.TextNB(model, calibrate=None)
    for model in ("odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial")
}
KINDS = {**ALL, **TEXTS}


def batch_of(kind, rng):
    """A few rows with labels and weights, among them weights that are no sums of powers of 2."""
    n = int(rng.integers(1, 6))
    weight = rng.choice([0.3, 0.5, 1.0, 2.0], n)
    if kind in TEXTS:
        X = [" ".join(f"w{int(k)}" for k in rng.integers(0, 40, int(rng.integers(1, 7)))) for _ in range(n)]
        return X, LABELS[rng.integers(0, 3, n)], weight
    data = draw(kind, int(rng.integers(0, 2**31)), n, 3, 0.1)
    return data.X, data.y, weight


def together(parts):
    cells = [x for x, _, _ in parts]
    X = list(chain(*cells)) if isinstance(cells[0], list) else np.vstack(cells)
    return X, np.concatenate([y for _, y, _ in parts]), np.concatenate([w for _, _, w in parts])


@dataclass
class Walk:
    """A model that rows enter and leave, with a bound on its rounding error in each kind of sum."""

    kind: str
    rng: np.random.Generator
    model: object = None
    #: Rows in the model: rows, labels, weights, and the decay factor when they were learned.
    alive: list = field(default_factory=list)
    bounds: dict = field(default_factory=dict)

    def step(self):
        turn = self.rng.random()
        if len(self.alive) < 3 or (turn < 0.5 and len(self.alive) < 30):
            self.add(batch_of(self.kind, self.rng))
        elif turn < 0.9:
            self.remove(int(self.rng.integers(len(self.alive))))
        else:
            self.decay(float(self.rng.choice([0.5, 0.9, 0.99])))

    def add(self, rows):
        X, y, w = rows
        if self.model is None:
            self.model = KINDS[self.kind]().fit(X, y, sample_weight=w)
        elif self.rng.random() < 0.5:
            self.model.partial_fit(X, y, sample_weight=w)
        else:
            self.model = self.model + KINDS[self.kind]().fit(X, y, sample_weight=w)
        self.alive.append((rows, self.model.decay_factor_))
        self.widen()

    def remove(self, k):
        self.widen()
        (X, y, w), since = self.alive.pop(k)
        if self.rng.random() < 0.5:
            self.model.forget(X, y, sample_weight=w, since=since)
        else:
            part = KINDS[self.kind]().fit(X, y, sample_weight=w)
            self.model = self.model - part.decay(self.model.decay_factor_ / since)

    def decay(self, factor):
        self.model.decay(factor)
        self.bounds = {name: factor * bound for name, bound in self.bounds.items()}
        self.widen()
        for k in range(len(self.alive) - 1, -1, -1):  # rows of no weight are in no sum
            if len(self.alive) > 1 and self.model.decay_factor_ / self.alive[k][1] < 1e-6:
                self.remove(k)

    def widen(self):
        """Add the rounding error of one operation: 1e-13 of the sums of squares, 2e-15 of the other sums."""
        for name, now in sums_of(self.model).items():
            error = 1e-13 * now if name.endswith("squares") else 2e-15 * np.abs(now).max(initial=0.0)
            self.bounds[name] = self.bounds.get(name, 0.0) + error

    def check(self):
        rows = together([(X, y, w * self.model.decay_factor_ / since) for (X, y, w), since in self.alive])
        truth = KINDS[self.kind]().fit(rows[0], rows[1], sample_weight=rows[2])
        assert self.model.classes_.tolist() == truth.classes_.tolist()
        for mine, theirs in zip(counts_of(self.model), counts_of(truth), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        mine, theirs = sums_of(self.model), sums_of(truth)
        if "documents" in mine:
            words = self.model.stats_.blocks[0].words.tolist()
            theirs["documents"] = documents_of(self.alive, self.model.decay_factor_, words)
        assert mine.keys() == theirs.keys()
        for name in mine:
            assert (np.abs(mine[name] - theirs[name]) <= self.bounds[name]).all(), name
        assert np.isfinite(self.model.predict_proba(rows[0])).all()


def counts_of(model):
    """Everything in the statistics that must be exact."""
    stats = model.stats_.reindexed(LABELS)
    yield stats.rows
    for block in stats.blocks:
        if isinstance(block, Bursts):
            yield block.words
            block = block.counts
        yield wide(block.rows, block)
        if isinstance(block, Counts):
            yield from (block.offsets, block.codes)
        if isinstance(block, Values):
            yield from (block.sizes, block.x, block.times)


def wide(a, block):
    """One column for each column of the block: if no cell is missing, one is stored for all of them."""
    x = getattr(block, "x", None)
    return a if x is None or x.ndim == 1 else np.broadcast_to(a, x.shape)


def documents_of(alive, factor, words):
    """The number of documents with each word, every document times its decay, in order of the classes."""
    count = np.zeros((3, 1 + len(words)))
    for (X, y, _), since in alive:
        for text, label in zip(X, y, strict=True):
            own = [0, *(1 + words.index(word) for word in set(text.split()))]
            count[LABELS.tolist().index(label), own] += factor / since
    return count


def sums_of(model):
    """The sums of a model by name, with the classes in one order."""
    stats = model.stats_.reindexed(LABELS)
    sums = {"class weight": stats.weight}
    for block in stats.blocks:
        if isinstance(block, Bursts):
            block = block.counts
        sums["weight"] = wide(block.observed_weight, block)
        if isinstance(block, Moments):
            # A mean is compared times its weight: it is as uncertain as the sum that it was computed from.
            sums |= {"sum": block.mean * block.observed_weight, "squares": block.squared_error}
        elif isinstance(block, Values):
            sums["weight of values"] = block.weight
        elif hasattr(block, "x"):
            sums["sum"] = block.x
        if getattr(block, "decayed_rows", None) is not None:
            sums["documents"] = block.decayed_rows
    return sums


def run(kind, engine, steps, checks=10):
    with engines.using(engine):
        walk = Walk(kind, np.random.default_rng(0))
        for step in range(steps):
            walk.step()
            if step % max(1, steps // checks) == 0:
                walk.check()
        walk.check()


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_walk_ends_at_the_fit_on_the_rows_that_remain(kind):
    run(kind, "native", 60, checks=6)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["native", "array"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_long_walk_ends_at_the_fit_on_the_rows_that_remain(kind, engine, scaled):
    run(kind, engine, scaled(10_000), checks=20)


# Models with different classes, levels, vocabularies and anchors.


def different(kind, seed, label, n=8):
    """Rows of two classes, one of them `label`, with levels or words that other seeds do not have."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, label, "a")
    if kind in TEXTS:
        words = rng.integers(0, 12, (n, 4)) + 8 * seed
        return [" ".join(f"w{k}" for k in row) for row in words.tolist()], y
    X = draw(kind, seed, n, 3, 0.0).X
    if "categorical" in kind:
        X = X + 2 * seed
    return X, y


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ["native", pytest.param("array", marks=pytest.mark.slow)])
def test_a_plus_b_minus_b_is_a(kind, engine):
    rows = [different(kind, seed, label) for seed, label in ((1, "b"), (2, "c"), (3, "b"))]
    with engines.using(engine):
        one, two, three = models = [KINDS[kind]().fit(*part) for part in rows]
        before = [list(counts_of(model)) for model in models]
        whole = sum(models)
        assert set(whole.classes_.tolist()) == set(np.concatenate([y for _, y in rows]).tolist())
        for rest, truth in ((whole - three - two, one), (whole - one - three, two), ((one + two) - one, two)):
            assert rest.classes_.tolist() == truth.classes_.tolist()
            for mine, theirs in zip(counts_of(rest), counts_of(truth), strict=True):
                np.testing.assert_array_equal(mine, theirs)
            for name, mine in sums_of(rest).items():  # whole weights are exact, other sums nearly so
                exact = "weight" in name and kind not in ("kernel-grid", "text-odds")  # shares of rows
                np.testing.assert_allclose(
                    mine, sums_of(truth)[name], rtol=0 if exact else 1e-9, atol=1e-9 * (not exact)
                )
            np.testing.assert_allclose(
                rest.predict_log_proba(rows[0][0]), truth.predict_log_proba(rows[0][0]), rtol=1e-7, atol=1e-8
            )
        for model, counts in zip(models, before, strict=True):  # no operand has changed
            for mine, theirs in zip(counts_of(model), counts, strict=True):
                np.testing.assert_array_equal(mine, theirs)
        with pytest.raises(ValueError, match="cannot be subtracted"):
            one - whole


@pytest.mark.parametrize(
    "kind", ["gaussian", "table-gaussian", "table-lognormal", "table-kernel", "table-laplace"]
)
def test_models_about_distant_anchors(kind):
    rng = np.random.default_rng(0)
    near, far = rng.gamma(2.0, size=(50, 2)), 1e9 + rng.gamma(2.0, size=(50, 2))
    # The classes differ, so that no sum mixes both.
    one, two = KINDS[kind]().fit(near, ["a"] * 50), KINDS[kind]().fit(far, ["b"] * 50)
    rest = (one + two).decay(0.5) - two.decay(0.5)
    for name, mine in sums_of(rest).items():
        np.testing.assert_allclose(mine, 0.5 * sums_of(one)[name], rtol=1e-13)
    whole = one + KINDS[kind]().fit(far, ["b"] * 50)
    np.testing.assert_allclose(
        sums_of(whole - one)["weight"], sums_of(KINDS[kind]().fit(far, ["b"] * 50))["weight"], rtol=0
    )


@pytest.mark.parametrize("kind", KINDS)
def test_decay_to_nothing_leaves_the_classes(kind):
    X, y = different(kind, 1, "b")
    model = KINDS[kind]().fit(X, y).decay(0.0)
    assert model.classes_.tolist() == ["a", "b"] and model.decay_factor_ == 0.0
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    more = different(kind, 2, "b")
    truth = KINDS[kind]().fit(*more)
    np.testing.assert_allclose(model.partial_fit(*more).predict_proba(X), truth.predict_proba(X), rtol=1e-12)
    with pytest.raises(ValueError, match="Fit again"):
        model.forget(*more, since=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_have_faded_below_rounding_error_do_no_harm(kind):
    X, y = different(kind, 1, "b")
    model = KINDS[kind]().fit(X, y).decay(1e-30)
    since = model.decay_factor_
    model.partial_fit(X, y).forget(X, y, since=since)  # only the old rows remain, whose weight has been lost
    if hasattr(model, "classes_"):
        assert np.isfinite(model.predict_proba(X)).all()
    model = KINDS[kind]().fit(X, y)
    for _ in range(20):  # to 1e-400, which is no float
        model.decay(1e-20)
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    model.partial_fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), KINDS[kind]().fit(X, y).predict_proba(X), rtol=1e-9)
