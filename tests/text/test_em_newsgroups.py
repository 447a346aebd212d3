"""20 Newsgroups with few labels: what EM is known to add, and that it does no harm where it is known to collapse."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
import sunrise as sr
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

pytestmark = pytest.mark.slow

MULTINOMIAL = {"model": "multinomial", "calibrate": None}


@pytest.fixture(scope="module")
def articles(find_data):
    with gzip.open(find_data("20news-bydate.jsonl.gz"), "rt", encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    texts = np.array([row["text"].partition("\n\n")[2] for row in rows], dtype=object)
    y = np.array([row["group"] for row in rows])
    train = np.array([row["split"] == "train" for row in rows])
    return texts, y, np.random.default_rng(1).permutation(np.flatnonzero(train)), np.flatnonzero(~train)


def compared(articles, n, n_rest, **settings):
    texts, y, train, test = articles
    labelled = np.concatenate([train[y[train] == group][: n // 20] for group in np.unique(y)])
    rest = train[~np.isin(train, labelled)][:n_rest]
    labels = [*y[labelled].tolist(), *[None] * len(rest)]
    plain = sr.TextNB(**settings).fit(texts[labelled], y[labelled])
    model = sr.TextNB(**settings, unlabelled="em").fit(texts[[*labelled, *rest]], labels)
    return *((m.predict(texts[test]) == y[test]).mean() for m in (plain, model)), model.em_


def test_300_labels_and_8000_articles_without_one(articles):
    stop = list(ENGLISH_STOP_WORDS)
    alone, both, em = compared(
        articles, 300, 8000, **MULTINOMIAL, alpha=0.01, min_df=2, total=20, stop_words=stop
    )
    assert 0.46 < alone < 0.56 and both >= 0.66
    assert em.is_likelihood and np.diff(em.log_likelihood).min() > 0
    assert abs(em.scores[em.weight] - both) < 0.08  # the proof is honest: leave-one-out would say 0.9


@pytest.mark.parametrize("settings", [{"alpha": 1.0}, {"alpha": 1.0, "total": 20.0}, {"alpha": 0.1}], ids=str)
@pytest.mark.parametrize("n", [20, 100])
def test_where_em_collapses_the_labelled_rows_decide(articles, n, settings):
    alone, both, em = compared(articles, n, 2000, **MULTINOMIAL, **settings)
    assert both >= alone - 0.01
    assert em.weight == 0.0 or both > alone
