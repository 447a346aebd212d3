"""Columns of text at their limits: no word left, forgetting after EM, odd weights, wrong settings, hashed words."""

from __future__ import annotations

import numpy as np
import pytest
import sunrise as sr
from sklearn.feature_extraction.text import CountVectorizer
from sunrise.text import WordCounter

RNG = np.random.default_rng(8)
MODELS = ["odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial"]
TEXTS = ["red wine", "dark beer", "red beer", "white wine"]
Y = [0, 1, 1, 0]


def corpus(n, n_classes=3, words=40):
    y = RNG.integers(0, n_classes, n)
    shares = RNG.dirichlet(np.full(words, 0.3), n_classes)
    texts = [" ".join(f"w{k}" for k in RNG.choice(words, RNG.integers(3, 20), p=shares[c])) for c in y]
    return texts, y


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "texts", [["a", "b", "c", "d"], [""] * 4, [None] * 4], ids=["short", "empty", "missing"]
)
def test_without_a_word_there_is_the_prior(model, texts):
    with pytest.warns(sr.NoWordsWarning, match="column 'text' has no word that the model uses"):
        found = sr.TextNB(model).fit(texts, Y)
    np.testing.assert_allclose(found.predict_proba(["red wine", None, ""]), 0.5)
    assert np.isfinite(found.leave_one_out(texts, Y)).all()
    assert found.informative_words() == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("calibrate", [None, "temperature", "columns"])
@pytest.mark.parametrize("texts", [["", "", "a", "!"], [None] * 4], ids=["empty", "missing"])
@pytest.mark.filterwarnings("ignore::sunrise.NoWordsWarning")
def test_a_class_with_one_document_without_words_can_be_left_out(model, calibrate, texts):
    found = sr.TextNB(model, calibrate=calibrate).fit(texts, list("abbb"))
    assert np.isfinite(found.leave_one_out(texts, list("abbb"))[1:]).all()
    if calibrate is None and model != "complement":  # a complement has no class prior
        np.testing.assert_allclose(found.predict_proba(["x", None]), [[0.25, 0.75]] * 2)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("calibrate", ["temperature", "columns"])
def test_missing_documents_do_not_change_a_calibration(model, calibrate):
    """Without a document there is nothing to weigh: as many missing documents of every class leave the offsets."""
    texts, y = corpus(60, 2, 12)
    y[:30], y[30:] = 0, 1
    missing = sr.TextNB(model, calibrate=calibrate).fit([*texts, *[None] * 20], [*y, *[0, 1] * 10])
    plain = sr.TextNB(model, calibrate=None).fit([*texts, *[None] * 20], [*y, *[0, 1] * 10])
    expected = np.log([[0.5, 0.5]] * 20) + np.log(39 / 40) * np.eye(2)[[0, 1] * 10]
    expected -= np.logaddexp.reduce(expected, axis=1)[:, None]
    if model == "complement":
        expected = np.full_like(expected, np.log(0.5))
    kept = plain.leave_one_out([*texts, *[None] * 20], [*y, *[0, 1] * 10])
    np.testing.assert_allclose(kept[60:], expected, rtol=1e-12)
    # The calibration is the minimum of the leave-one-out loss, which the plain model's scores alone define.
    rows = missing._read_training_rows([*texts, *[None] * 20], [*y, *[0, 1] * 10], None)
    np.testing.assert_array_equal(rows.block(0)[60:], 0.0)
    np.testing.assert_allclose(list(missing.calibration_.offsets.values()), 0.0, atol=0.3)


def test_the_chosen_alpha_of_text_is_shown():
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    texts, y = corpus(40, 2, 10)
    counts = CountVectorizer().fit_transform(texts).toarray()
    totals = np.stack([counts[y == c].sum(axis=0) for c in range(2)])

    def minus_evidence(log_alpha):
        a, k = np.exp(log_alpha), totals.shape[1]
        return -(
            gammaln(k * a) - gammaln(k * a + totals.sum(axis=1)) + (gammaln(totals + a) - gammaln(a)).sum(1)
        ).sum()

    best = minimize_scalar(minus_evidence, bounds=(-5, 5), method="bounded", options={"xatol": 1e-9}).x
    model = sr.TextNB("multinomial", alpha="evidence", calibrate=None).fit(texts, y)
    value, at_boundary = model.chosen_[("text",)]
    assert value == pytest.approx(np.exp(best), rel=1e-4) and not at_boundary


@pytest.mark.parametrize("make", [sr.Complement, sr.Odds, lambda alpha: sr.TextNB(alpha=alpha).fit(TEXTS, Y)])
def test_scores_without_a_likelihood_have_no_evidence(make):
    with pytest.raises(ValueError, match='alpha is "evidence", and .* has no evidence.*Give alpha a number'):
        make("evidence")


def test_complement_nb_refuses_evidence_before_it_reads_data():
    with pytest.raises(ValueError, match="'alpha' parameter of ComplementNB must be a float"):
        sr.ComplementNB(alpha="evidence").fit(None, None)


@pytest.mark.filterwarnings("ignore::sunrise.NoWordsWarning")
def test_words_may_all_be_too_rare():
    found = sr.TextNB(min_df=5).fit(TEXTS, Y)
    np.testing.assert_allclose(found.predict_proba(TEXTS), 0.5)


@pytest.mark.filterwarnings("ignore::sunrise.NoWordsWarning")
def test_a_column_of_text_that_is_missing_is_as_if_it_were_not_there():
    x = [1.0, 2.0, 2.5, 1.0]
    a = sr.NaiveBayes({"a": "text", "x": "gaussian"}).fit({"a": [None] * 4, "x": x}, Y)
    b = sr.NaiveBayes({"x": "gaussian"}).fit({"x": x}, Y)
    np.testing.assert_allclose(a.predict_proba({"a": [None] * 4, "x": x}), b.predict_proba({"x": x}))


@pytest.mark.parametrize(
    "settings", [{}, {"tf": "log", "idf": 1.0, "length": 1.0, "idf_first": True}], ids=str
)
@pytest.mark.parametrize("calibrate", ["temperature", "columns"])
def test_weights_divided_by_their_sum_are_calibrated_too(settings, calibrate):
    texts, y = corpus(600)
    plain, honest = (
        sr.TextNB("complement", norm=True, calibrate=kind, **settings).fit(texts[:400], y[:400])
        for kind in (None, calibrate)
    )
    assert honest.score(texts[400:], y[400:]) > plain.score(texts[400:], y[400:]) - 0.05
    log_p = honest.predict_log_proba(texts[400:])
    assert -log_p[np.arange(200), y[400:]].mean() < 0.8 * np.log(3)


@pytest.mark.filterwarnings("ignore::sunrise.UnlabelledRowsWarning")
@pytest.mark.parametrize("model", ["odds", "multinomial", "bernoulli"])
def test_rows_can_be_forgotten_after_em(model):
    texts, y = corpus(400)
    labels = [int(c) if k < 60 else None for k, c in enumerate(y)]
    found = sr.TextNB(model, unlabelled="em", class_weight={0: 2.0}).fit(texts, labels)
    before = found.predict_proba(texts)
    again = [texts[0] + " unheard"], [int(y[0])]
    found.partial_fit(*again).forget(*again)
    np.testing.assert_allclose(found.predict_proba(texts), before, rtol=1e-8, atol=1e-10)


def test_a_missing_document_says_nothing_where_words_are_impossible():
    found = sr.TextNB("bernoulli", alpha=0, calibrate=None).fit(
        ["red wine", "beer", "dark beer", "dark wine"], [0, 0, 1, 1]
    )
    np.testing.assert_allclose(found.predict_proba([None]), [[0.5, 0.5]])


def test_densities_of_documents_are_those_of_their_counts():
    texts, y = corpus(50)
    counts = CountVectorizer().fit_transform(texts)
    for name, other in (
        ("multinomial", sr.MultinomialNB()),
        ("dirichlet_multinomial", sr.DirichletMultinomialNB()),
    ):
        found = sr.TextNB(name, calibrate=None).fit(texts, y)
        np.testing.assert_allclose(
            found.score_samples(texts), other.fit(counts, y).score_samples(counts), rtol=1e-9
        )


@pytest.mark.parametrize("model", MODELS[:-1])
def test_words_speak_for_and_against_in_every_model(model):
    texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
    found = sr.TextNB(model, calibrate=None).fit(texts, ["spam", "spam", "ham", "ham"])
    assert found.words("spam", top=1)[0].word in ("free", "prize", "now", "call", "for")
    against = found.words("spam", top=2, speaking="against")
    assert {word.word for word in against} <= {"lunch", "at", "noon", "see", "then", "you"}
    assert all(word.evidence < 0 for word in against)
    told = found.explain_words("free lunch now", of="spam", against="ham")
    joint = found.predict_joint_log_proba(["free lunch now"])[0]
    np.testing.assert_allclose(sum(word.evidence for word in told), joint[1] - joint[0], rtol=1e-10)
    with pytest.raises(ValueError, match="speaking"):
        found.words("spam", speaking="of")


def test_hashed_words_are_explained():
    found = sr.TextNB(hash_bits=10, calibrate=None).fit(TEXTS, Y)
    told = found.explain_words("red wine", of=0, against=1)
    assert {word.word[0] for word in told} == {"#"} and sum(word.evidence for word in told) > 0


def test_only_words_of_the_model_are_informative():
    assert len(sr.TextNB(max_features=2).fit(TEXTS, Y).informative_words()) == 2


@pytest.mark.parametrize(
    "limits",
    [{"min_df": 2}, {"max_df": 0.5}, {"max_features": 7}, {"min_df": 0.1, "max_df": 20, "max_features": 3}],
)
def test_rare_and_frequent_words_are_left_out_as_by_count_vectorizer(limits):
    texts, _ = corpus(60)
    theirs = CountVectorizer(**limits)
    expected = theirs.fit_transform(texts)
    found = WordCounter(**limits).count(texts)
    if "max_features" not in limits:  # of words that occur equally often, either may be kept
        assert found.words.tolist() == theirs.get_feature_names_out().tolist()
        assert (found.matrix != expected).nnz == 0
    assert found.matrix.sum() == expected.sum() and found.n_columns == expected.shape[1]
    with pytest.raises(ValueError, match="Set them on Text"):
        sr.Text(counter=WordCounter(**limits))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"length": -1}, "length is -1"),
        ({"idf": "a"}, "idf is 'a'"),
        ({"max_features": -1}, "max_features is -1"),
        ({"counter": "x"}, "counter is 'x'"),
        ({"model": sr.Multinomial}, "cannot score words"),
    ],
)
def test_settings_of_text_are_checked(wrong, said):
    with pytest.raises(ValueError, match=said):
        sr.Text(**wrong)


def test_models_that_disagree_say_on_what():
    a, b = (sr.TextNB(ngram_range=n, calibrate="temperature").fit(TEXTS, Y) for n in ((1, 2), (1, 1)))
    with pytest.raises(
        ValueError, match=r"column 'text'.*ngram_range=\(1, 2\).*is not.*ngram_range=\(1, 1\)"
    ):
        a.merge(b)
    assert list(b.calibration_.weights) == ["text"] == list(b.calibration_.exponents)


def test_numbers_are_no_text_and_generators_are():
    with pytest.raises(ValueError, match="column 'a' holds numbers, not text"):
        sr.NaiveBayes({"a": "text"}).fit({"a": [1.0, 2.0, 3.0, 4.0]}, Y)
    found = sr.TextNB(calibrate=None).fit((text for text in TEXTS), Y)
    assert found.predict(["red wine"]).tolist() == [0]
    with pytest.raises(ValueError, match="NoneType"):
        sr.TextNB().fit(None, Y)
