"""One small model of every kind, with rows to predict: for tests that hold for all models."""

from __future__ import annotations

import datetime
from itertools import product

import numpy as np
import sunrise as sr
from scipy import sparse
from sunrise.families.base import ESTIMATES, FAMILIES
from sunrise.statistics.support import LEVELS

RNG = np.random.default_rng(20)
N = 90
Y = np.array(["no", "yes", "maybe"])[RNG.integers(0, 3, N)]
WORDS = np.array(
    [
        "sun",
        "moon",
        "star",
        "rain",
        "snow",
        "wind",
        "été",
        "雪",
        "spam",
        "offer",
        "win",
        "free",
        "a1",
        "b2",
        "c3",
    ]
)
TEXTS = [" ".join(WORDS[RNG.integers(0, 15, 8) % (15 if y == "no" else 9)]) for y in Y]
MISSING = RNG.random((N, 3)) < 0.1


def cells(family: str) -> np.ndarray:
    """Cells that a family accepts, some of them missing."""
    support = LEVELS if family == "categorical" else FAMILIES[family]().support
    X = support.draw(np.random.default_rng(7), (N, 3))
    if family != "dirichlet_multinomial":  # it learns from the totals of complete rows
        X[MISSING] = np.nan
    return X


def table() -> dict[str, list]:
    """A table with columns of all types."""
    rng = np.random.default_rng(3)
    shift = (Y == "yes").astype(float)
    columns = {
        "number": (rng.normal(size=N) + shift).tolist(),
        "count": rng.poisson(2 + 3 * shift).tolist(),
        "flag": (rng.random(N) < 0.3 + 0.4 * shift).tolist(),
        "level": np.where(rng.random(N) < 0.2 + 0.5 * shift, "left", "right").tolist(),
        "words": TEXTS,
        "constant": ["same"] * N,
    }
    columns["number"][3] = columns["level"][5] = columns["flag"][7] = None
    return columns


def _stream() -> sr.NaiveBayes:
    model = sr.NaiveBayes({"words": "text"})
    part = {name: column[:40] for name, column in table().items()}
    return model.partial_fit(part, Y[:40], classes=["maybe", "no", "yes", "never"])


def _decayed() -> sr.NaiveBayes:
    return sr.NaiveBayes({"words": "text"}).fit(table(), Y).decay(0.7, prune=0.8)


def _with_prior() -> sr.NaiveBayes:
    model = sr.NaiveBayes({"words": None}).fit(table(), Y)
    model.class_prior_ = [0.2, 0.3, 0.5]
    return model


def _semi_supervised() -> sr.NaiveBayes:
    y = Y.astype(object)
    y[::3] = None
    return sr.NaiveBayes({"words": None}, unlabelled="em", unlabelled_weight=0.5).fit(table(), y)


def _dates() -> sr.NaiveBayes:
    days = {
        "no": datetime.date(2026, 1, 1),
        "yes": datetime.date(2026, 1, 2),
        "maybe": datetime.date(2026, 1, 3),
    }
    return sr.NaiveBayes({"words": None}).fit(table(), np.array([days[label] for label in Y], dtype=object))


def _given() -> sr.NaiveBayes:
    parameters = {
        "number": ("gaussian", {"mean": [0, 1], "sd": 2}),
        "flag": ("bernoulli", {"yes": [0.2, 0.7]}),
    }
    return sr.NaiveBayes.from_parameters(parameters, classes=["a", "b"])


def _pairs() -> sr.NaiveBayes:
    families = {("count", "more"): "multinomial", "words": sr.Text("multinomial"), "number": sr.Kernel()}
    return sr.NaiveBayes(families).fit({**table(), "more": table()["count"][::-1]}, Y, np.arange(N) % 3)


def _sparse() -> sr.MultinomialNB:
    return sr.MultinomialNB().fit(sparse.csr_array(np.random.default_rng(1).poisson(0.1, (N, 60))), Y)


def _together():
    """Pairs and a block of correlated columns beside the columns themselves."""
    columns = dict(zip("uvw", cells("correlated").T.tolist(), strict=True))
    return sr.NaiveBayes("gaussian", interactions=[("u", "v"), ("u", "v", "w")]).fit(columns, Y)


SPECIAL = {
    "default": lambda: (sr.NaiveBayes().fit(table(), Y), table()),
    "default without text": lambda: (sr.NaiveBayes({"words": None}).fit(table(), Y), table()),
    "stream": lambda: (_stream(), table()),
    "decayed": lambda: (_decayed(), table()),
    "decayed stream": lambda: (_stream().decay(0.7), table()),
    "compressed": lambda: (_pairs().compress(), {**table(), "more": table()["count"]}),
    "suppressed": lambda: (sr.NaiveBayes().fit(table(), Y).suppress(3), table()),
    "together": lambda: (_together(), dict(zip("uvw", cells("correlated").T.tolist(), strict=True))),
    "counted pairs": lambda: (
        sr.NaiveBayes({"words": None}, keep_pairs="all").fit(table(), Y),
        table(),
    ),
    "class prior": lambda: (_with_prior(), table()),
    "em": lambda: (_semi_supervised(), table()),
    "dates": lambda: (_dates(), table()),
    "given parameters": lambda: (_given(), {"number": [0.5, None], "flag": [True, False]}),
    "blocks": lambda: (_pairs(), {**table(), "more": table()["count"]}),
    "sparse": lambda: (_sparse(), sparse.csr_array(np.eye(60))),
    "selected": lambda: (sr.NaiveBayes({"words": None}).fit(table(), Y).select(2), table()),
    "balanced": lambda: (
        sr.NaiveBayes("categorical", class_weight="balanced").fit(cells("poisson"), Y),
        cells("poisson"),
    ),
}

SINGLE = {
    "GaussianNB": (sr.GaussianNB, "gaussian"),
    "BernoulliNB": (sr.BernoulliNB, "bernoulli"),
    "MultinomialNB": (sr.MultinomialNB, "multinomial"),
    "ComplementNB": (sr.ComplementNB, "complement"),
    "CategoricalNB": (sr.CategoricalNB, "categorical"),
    "PoissonNB": (sr.PoissonNB, "poisson"),
    "KernelNB": (sr.KernelNB, "kernel"),
    "DirichletMultinomialNB": (sr.DirichletMultinomialNB, "dirichlet_multinomial"),
}

TEXT_MODELS = ("odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial")


def one_of_each() -> dict:
    """Every family, estimator and special state once: name -> function that returns a model and rows."""
    zoo = dict(SPECIAL)
    for name, (cls, family) in SINGLE.items():
        zoo[name] = lambda cls=cls, family=family: (cls().fit(cells(family), Y), cells(family))
    for model in TEXT_MODELS:
        zoo[f"TextNB {model}"] = lambda model=model: (
            sr.TextNB(model=model).fit(TEXTS, Y),
            [*TEXTS, "unknown", ""],
        )
    zoo["TextNB hashed"] = lambda: (sr.TextNB(hash_bits=8).fit(TEXTS, Y), TEXTS)
    for family in FAMILIES:
        if family != "text":
            zoo[family] = lambda family=family: (sr.NaiveBayes(family).fit(cells(family), Y), cells(family))
    return zoo


def settings() -> dict:
    """Families x estimates x calibrations; those that refuse a combination raise ValueError."""
    zoo = {}
    for family, estimate, calibrate in product(FAMILIES, ESTIMATES, (None, "temperature", "columns")):
        if family == "text":
            for model in TEXT_MODELS:
                key = f"text {model} {estimate} {calibrate}"
                zoo[key] = lambda m=model, e=estimate, c=calibrate: (
                    sr.TextNB(model=m, estimate=e, calibrate=None if c is None else "temperature").fit(
                        TEXTS, Y
                    ),
                    TEXTS,
                )
        else:
            zoo[f"{family} {estimate} {calibrate}"] = lambda f=family, e=estimate, c=calibrate: (
                sr.NaiveBayes(f, estimate=e, calibrate=c).fit(cells(f), Y),
                cells(f),
            )
    return zoo
