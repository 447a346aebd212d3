"""n_jobs limits every computation, and any number of threads gives the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sunrise import KernelNB, MultinomialNB, NaiveBayes, TextNB
from sunrise._common import threads

N = 3_000
RNG = np.random.default_rng(0)
Y = RNG.choice(list("abc"), N)
COUNTS = RNG.poisson(0.3 + 0.1 * (Y == "a")[:, None], (N, 40)).astype(float)
TABLE = {
    "x": RNG.normal(size=N) + (Y == "a"),
    "k": RNG.gamma(2.0 + (Y == "b"), size=N),
    "n": RNG.poisson(3.0 + (Y == "c"), N),
    "level": RNG.choice(list("uvw"), N),
}
WORDS = np.array([f"w{k}" for k in range(400)])
TEXTS = [" ".join(WORDS[np.minimum(RNG.geometric(0.02, 30) + 20 * (c == "a"), 399)]) for c in Y]

MODELS = {
    "csr": (MultinomialNB(), sparse.csr_array(COUNTS)),
    "text": (TextNB(calibrate="temperature"), TEXTS),
    "text multinomial": (TextNB("multinomial", calibrate="temperature"), TEXTS),
    "kernel": (KernelNB(), np.stack([TABLE["x"], TABLE["k"]], axis=1)),
    "kernel by leave-one-out": (KernelNB(bandwidth="loo"), TABLE["x"][:, None]),
    "chosen": (NaiveBayes(calibrate=None), TABLE),
    "chosen, temperature": (NaiveBayes(calibrate="temperature"), TABLE),
    "chosen, columns": (NaiveBayes(calibrate="columns"), TABLE),
}
every_model = pytest.mark.parametrize("name", MODELS)


def run(name: str, n_jobs: int) -> list[object]:
    """Return all numbers of a model."""
    model, X = MODELS[name]
    model = model.set_params(n_jobs=n_jobs).fit(X, Y)
    found: list[object] = [model.predict_proba(X), model.leave_one_out(X, Y), model.loo_score(X, Y)]
    if name != "csr":
        found.append(model.explain(X if name.startswith("kernel") else head(X)).contributions)
    if getattr(model, "calibrate", None) is not None:
        found += [model.loo_score_, *model.recalibrate(X, Y).calibration_]
    return found


def head(X):
    return {name: cells[:50] for name, cells in X.items()} if isinstance(X, dict) else X[:50]


@every_model
def test_one_job_is_one_thread(name, monkeypatch):
    # Every computation counts as large, and asking for the number of cores fails.
    def refuse() -> int:
        raise AssertionError("n_jobs=1 is not passed on")

    monkeypatch.delenv("SUNRISE_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "SMALL", 0)
    monkeypatch.setattr(threads, "_cores", refuse)
    run(name, 1)


@every_model
def test_any_number_of_threads_gives_the_same_bits(name, monkeypatch):
    monkeypatch.setattr(threads, "SMALL", 0)
    monkeypatch.setattr(threads, "PER_THREAD", 1)
    one = run(name, 1)
    for n_jobs in (2, 5):
        np.testing.assert_equal(run(name, n_jobs), one)


def test_few_cells_have_few_threads(monkeypatch):
    monkeypatch.setenv("SUNRISE_THREADS", "6")
    assert threads.threads(None) == 6
    assert [threads.threads(None, threads.SMALL - 1), threads.threads(None, threads.SMALL)] == [1, 2]
    assert threads.threads(None, 5 * threads.PER_THREAD) == 5
    assert threads.threads(None, 1 << 30) == 6
    assert threads.threads(3, 1 << 30) == 3


def test_the_limit_of_a_model_ends_with_its_computation(monkeypatch):
    monkeypatch.setenv("SUNRISE_THREADS", "6")
    with threads.limited_to(2):
        assert threads.threads(None) == 2
        assert threads.threads(3) == 3
        with pytest.raises(ZeroDivisionError), threads.limited_to(1):
            _ = 1 // 0
        assert threads.threads(None) == 2
    assert threads.threads(None) == 6
