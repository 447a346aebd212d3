"""A text column beside others: what every method gives for it, and that the other columns keep their numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from scipy import stats
from scipy.special import logit
from sklearn.feature_extraction.text import CountVectorizer

RNG = np.random.default_rng(12)
MODELS = ["odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial"]
every_model = pytest.mark.parametrize("model", MODELS)
N, V = 80, 12
Y = RNG.integers(0, 2, N)
SHARES = RNG.dirichlet(np.full(V, 0.5), 2)
TEXTS = [" ".join(f"w{k}" for k in RNG.choice(V, RNG.integers(2, 9), p=SHARES[c])) for c in Y]
TABLE = pd.DataFrame({"message": TEXTS, "size": RNG.normal(size=N) + Y, "kind": RNG.choice(list("abc"), N)})
FAMILIES = {"size": "gaussian", "kind": "categorical"}
REST = TABLE[["size", "kind"]]


def mixed(model, **settings):
    return sr.NaiveBayes({"message": sr.Text(model), **FAMILIES}, calibrate=None, **settings).fit(TABLE, Y)


def without_text():
    return sr.NaiveBayes(FAMILIES, calibrate=None).fit(REST, Y)


def bits_of_presence(word):
    """Mutual information of class and presence of a word, from Laplace's probabilities, summed by hand."""
    has = np.array([word in text.split() for text in TEXTS])
    prior = np.bincount(Y) / N
    p = np.array([(has[c == Y].sum() + 1) / ((c == Y).sum() + 2) for c in (0, 1)])
    joint = prior[:, None] * np.stack([p, 1 - p], axis=1)
    return float((joint * np.log2(joint / (prior[:, None] * joint.sum(axis=0)))).sum())


@every_model
def test_mutual_information_of_text_is_that_of_its_best_word(model):
    bits = mixed(model).mutual_information()
    np.testing.assert_allclose(bits[1:], without_text().mutual_information(), rtol=1e-12)
    words = sorted(set(" ".join(TEXTS).split()), key=bits_of_presence)
    assert bits[0] == pytest.approx(bits_of_presence(words[-1]), rel=1e-9)
    (best, most), (second, next_most) = mixed(model).informative_words(2, column="message")
    assert (best, second) == (words[-1], words[-2])
    assert (most, next_most) == pytest.approx((bits_of_presence(best), bits_of_presence(second)), rel=1e-9)


@every_model
def test_columns_are_selected_beside_text(model):
    whole = mixed(model)
    small, text = whole.select(2), whole.select(1)
    chosen = list(TABLE.columns[small.selected_])
    again = sr.NaiveBayes(
        {name: family for name, family in whole.families.items() if name in chosen}, calibrate=None
    ).fit(TABLE[chosen], Y)
    np.testing.assert_allclose(small.predict_proba(TABLE), again.predict_proba(TABLE[chosen]), rtol=1e-9)
    assert text.selected_.tolist() == [int(np.argmax(whole.mutual_information()))]


@every_model
def test_drawn_rows_have_no_text_and_the_same_other_cells(model):
    rows, y = mixed(model).sample(50, random_state=3)
    others, same = without_text().sample(50, random_state=3)
    assert rows["message"].isna().all() and (y == same).all()
    pd.testing.assert_frame_equal(rows[["size", "kind"]], others)
    with pytest.raises(ValueError, match="no documents can be drawn"):
        sr.TextNB(model).fit(TEXTS, Y).sample()


@pytest.mark.parametrize("model", ["odds", "complement"])
def test_text_without_a_distribution_is_left_out_of_the_density(model):
    whole = mixed(model)
    with pytest.warns(sr.NoDensityWarning, match="column 'message' has no density"):
        found = whole.score_samples(TABLE)
    np.testing.assert_allclose(found, without_text().score_samples(REST), rtol=1e-12)
    with pytest.raises(ValueError, match="has no density of rows"):
        sr.TextNB(model).fit(TEXTS, Y).score_samples(TEXTS)


def test_the_density_includes_words_with_a_distribution():
    whole, rest = mixed("multinomial"), without_text()
    words = CountVectorizer().fit(TEXTS)
    counts = words.transform(TEXTS).toarray()
    total = np.stack([counts[c == Y].sum(axis=0) + 1.0 for c in (0, 1)])
    joint = rest.predict_joint_log_proba(REST)
    joint = joint + np.stack(
        [stats.multinomial.logpmf(counts, counts.sum(axis=1), t / t.sum()) for t in total], 1
    )
    joint += (rest.score_samples(REST) - np.logaddexp.reduce(rest.predict_joint_log_proba(REST), axis=1))[
        :, None
    ]
    np.testing.assert_allclose(whole.score_samples(TABLE), np.logaddexp.reduce(joint, axis=1), rtol=1e-9)


@pytest.mark.parametrize("model", ["odds", "complement"])
def test_intervals_shift_by_the_evidence_of_text_without_a_posterior(model):
    """With two classes the text moves every draw by the same log-odds, so it moves the ends of the interval."""
    whole, rest = mixed(model), without_text()
    told = whole.explain(TABLE).contributions[:, :, 0]
    shift = told[:, 1] - told[:, 0]
    ends, plain = (m.interval(t, n_draws=1001, random_state=0) for m, t in ((whole, TABLE), (rest, REST)))
    for end, base in zip(ends, plain, strict=True):
        np.testing.assert_allclose(logit(end[:, 1]), logit(base[:, 1]) + shift, rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="have no posterior"):
        sr.TextNB(model).fit(TEXTS, Y).interval(TEXTS)


@every_model
@pytest.mark.parametrize("calibrate", [None, "temperature", "columns"])
def test_words_of_a_document_add_up_to_the_contribution_of_its_column(model, calibrate):
    whole = sr.NaiveBayes({"message": sr.Text(model), **FAMILIES}, calibrate=calibrate).fit(TABLE, Y)
    told = whole.explain(TABLE).contributions[:, :, 0]
    for row in range(5):
        words = whole.explain_words(TEXTS[row], of=1, against=0)
        assert sum(w.evidence for w in words) == pytest.approx(
            told[row, 1] - told[row, 0], rel=1e-9, abs=1e-9
        )
        counts = {w.word: w.times for w in words if w.word}
        assert counts == {word: TEXTS[row].split().count(word) for word in set(TEXTS[row].split())}


@every_model
def test_words_of_a_class_are_those_of_text_alone(model):
    alone = sr.TextNB(model, calibrate=None).fit(TEXTS, Y)
    whole = mixed(model)
    for told, expected in zip(whole.words(1, top=4), alone.words(1, top=4), strict=True):
        assert told.word == expected.word and told.evidence == pytest.approx(expected.evidence, rel=1e-12)
        assert told.documents == {
            c: sum(told.word in text.split() for text, y in zip(TEXTS, Y, strict=True) if y == c)
            for c in (0, 1)
        }
    strongest = whole.words(0, top=1, against=1)[0]
    one = whole.explain_words(strongest.word, of=0, against=1)
    if model in ("multinomial", "dirichlet_multinomial"):  # the others scale documents or count absent words
        assert one[0].evidence == pytest.approx(strongest.evidence, rel=1e-9)


def test_the_words_of_an_urn_are_the_shares_of_its_alphas():
    model = sr.TextNB("dirichlet_multinomial", calibrate=None).fit(TEXTS, Y)
    alpha = sr.DirichletMultinomialNB().fit(CountVectorizer().fit_transform(TEXTS), Y).alpha_
    log_share = np.log(alpha / alpha.sum(axis=1, keepdims=True))
    names = sorted(set(" ".join(TEXTS).split()))
    for entry in model.words(1, top=5, against=0):
        j = names.index(entry.word)
        assert entry.evidence == pytest.approx(log_share[1, j] - log_share[0, j], rel=1e-9)


def test_text_columns_are_named_if_there_are_several():
    table = TABLE.assign(title=[text.split()[0] + " aa" for text in TEXTS])
    model = sr.NaiveBayes({"message": "text", "title": "text", **FAMILIES}).fit(table, Y)
    assert [w.word for w in model.words(1, column="title")]
    assert model.explain_words("aa bb", column="title")[0].word == "aa"
    with pytest.raises(ValueError, match=r"2 text columns: name one of \['message', 'title'\] as column="):
        model.words(1)
    with pytest.raises(ValueError, match="column 'size' is not a text column"):
        model.informative_words(column="size")
    with pytest.raises(ValueError, match="has no text column"):
        without_text().words(1)
    with pytest.raises(ValueError, match="text is of type NoneType"):
        model.explain_words(None, column="title")


def test_select_compares_bits_per_row():
    """A word of every second document tells more of the class than a noisy number, but less by token."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    n = 60
    share = np.array([[0.002, 0.5, 0.498], [0.012, 0.49, 0.498]])
    counts = np.stack([rng.multinomial(n, share[c]) for c in y])
    table = {f"w{j}": counts[:, j] for j in range(3)} | {"x": rng.normal(size=600) + 0.35 * y}
    model = sr.NaiveBayes({("w0", "w1", "w2"): "multinomial", "x": "gaussian"}, calibrate=None).fit(table, y)
    by_token, by_row = model.mutual_information(), model.mutual_information(per_row=True)
    assert by_token[0] < by_token[3] < by_row[0] and by_row[3] == by_token[3]
    fitted = np.stack([model.parameters_[f"w{j}"]["share"] for j in range(3)], axis=1)
    # The truth: the count of w0 in a row of n units is binomial in each class.
    p = np.stack([stats.binom.pmf(np.arange(n + 1), n, fitted[c, 0]) for c in (0, 1)])
    truth = sum(0.5 * (p[c] * np.log2(p[c] / p.mean(axis=0))).sum() for c in (0, 1))
    assert truth <= by_row[0] <= 1.25 * truth
    assert list(table)[model.select(1).selected_[0]] == "w0"
    assert sr.InformationSelector(1, estimator=model).fit(pd.DataFrame(table), y).get_support().tolist()[0]
