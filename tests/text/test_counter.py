"""Word counts, held against scikit-learn's CountVectorizer."""
# ruff: noqa: RUF001

from __future__ import annotations

import copy
import gzip
import itertools
import json
import pickle
import sys
import unicodedata

import hypothesis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sunrise.text import Counted, Vocabulary, WordCounter

#: What text can hold that is out of the ordinary.
ODD = [
    "",
    " ",
    "... --- !!!",
    "a",
    "ab",
    "The cat and the DOG; the_cat's 2nd dog, 3.14 x_y __ _ a_",
    "e\u0301te\u0301 ete été ÉTÉ É\u0301",
    "٣٤ ١٢٣ ४५६ ⅷⅸ Ⅷ ²³ ½¾ ①②",
    "世界 你好世界 こんにちは カタカナ 한국어 ㄱㄴ",
    "😀 ab😀cd 👩‍👩‍👧 🏳️‍🌈xy",
    "lone \ud800 high\udfffow ab\udc80cd \ud83d\ude00 xy",
    "nul\x00nul \x00\x00 ab\x00",
    "ΣΑΣ ΟΔΥΣΣΕΥΣ Σ ΑΣ. ΑΣΑ Σα'Σ aΣ\u0301b ΣΣ",
    "İstanbul ISPARTA ıspanak İİ İ",
    "ﬁne ﬂow straße STRASSE ẞ GROẞ",
    "ＦＵＬＬ ｗｉｄｔｈ １２３ ＿＿",
    "zero\u200dwidth zero\u200cwidth \ufeffbom soft\u00adhyphen",
    "Ⱥ Ⱥb ȺȾ K \u212a\u212a \u212b Å ǅ ǈ Ǳz",
    "a\u00a0b\u2003c \u2028\u2029 \x1c\x1d\x1e\x1f \x85 tab\tnew\nline\r\n\x0b\x0c  end ",
    "x" * 5000 + " " + "Y" * 17 + " " + "z" * 16 + " " + "q" * 15 + " é" + "é" * 40_000,
    "\u0345\u0300 a\u0300b ab\u0300 \u0903\u0904 ក្រ",
    "_" * 64 + " " + "a " * 300 + "ab " * 300,
    "".join(map(chr, range(0x500))),
    "\U0001d400\U0001d401 \U00010400\U00010428 \U0001e900x \U000e0041",
    "ᴬᴮ ᵃᵇ ª º µ ﬀ ŉ ǰ",
    "the cat  the   cat\n\nthe cat",
    "m\u00fc\u00df" * 9,
]


def same(counted: Counted, oracle: CountVectorizer, matrix) -> None:
    """The result of CountVectorizer, down to the last cell."""
    matrix.sort_indices()
    words = sorted(oracle.vocabulary_, key=oracle.vocabulary_.get)
    assert counted.words.tolist() == words
    assert np.array_equal(counted.indptr, matrix.indptr)
    assert np.array_equal(counted.indices, matrix.indices)
    assert np.array_equal(counted.data, matrix.data)
    assert counted.n_rows == matrix.shape[0] and counted.n_columns == len(words)
    if not oracle.binary:
        assert np.array_equal(counted.lengths, np.asarray(matrix.sum(axis=1)).ravel())
    assert np.array_equal(counted.distinct, np.diff(matrix.indptr))


def check(texts: list[str], **settings) -> None:
    counted = WordCounter(**settings).count(texts)
    oracle = CountVectorizer(**settings)
    if counted.n_columns == 0:
        with pytest.raises(ValueError, match="empty vocabulary"):
            oracle.fit(texts)
    else:
        matrix = oracle.fit_transform(texts)
        same(counted, oracle, matrix)


def equal(a: Counted, b: Counted) -> None:
    for name in ("indptr", "indices", "data", "lengths", "missing"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype and np.array_equal(left, right), name
    assert a.n_columns == b.n_columns and a.vocabulary == b.vocabulary


SETTINGS = [
    {},
    {"lowercase": False},
    {"binary": True},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"ngram_range": (3, 3), "lowercase": False},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii"},
    {"strip_accents": "unicode", "lowercase": False},
    {"strip_accents": "unicode", "analyzer": "char", "ngram_range": (2, 2)},
    {"stop_words": ["the", "cat", "ab", "été", "xyz" * 9]},
    {"stop_words": ["the"], "ngram_range": (1, 2)},
    *(
        {"analyzer": analyzer, "ngram_range": bounds}
        for analyzer in ("char", "char_wb")
        for bounds in ((1, 1), (1, 3), (2, 2), (3, 5), (7, 40))
    ),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_odd_texts_are_counted_as_by_scikit_learn(settings):
    if settings.get("analyzer") and settings["ngram_range"][1] > 10:
        check([text[:200] for text in ODD], **settings)
    else:
        check(ODD, **settings)


PARTS = st.one_of(
    st.text(max_size=8),
    st.text(st.characters(exclude_categories=()), max_size=8),  # with surrogates
    st.sampled_from(
        ["ab", "AB", "_", ".", "\n", "é", "É", "Σ", "ς", "İ", "ß", "\u0301", "\u00a0", "世", "٣"]
    ),
    st.sampled_from(["\ud800", "\udc00\ud800"]),
    st.sampled_from(["the", "cat", "The", " ", "  ", "\t", "xy" * 10, "Ⱥ"]),
)
TEXTS = st.lists(st.lists(PARTS, max_size=12).map("".join), min_size=1, max_size=6)


@given(TEXTS, st.sampled_from(SETTINGS))
def test_any_texts_are_counted_as_by_scikit_learn(texts, settings):
    check(texts, **settings)


@pytest.mark.long
def test_very_many_texts_are_counted_as_by_scikit_learn(scaled):
    limit = hypothesis.settings(max_examples=scaled(500_000), derandomize=True, database=None)
    limit(given(TEXTS, st.sampled_from(SETTINGS))(lambda texts, settings: check(texts, **settings)))()


def test_every_character_is_classified_and_lower_cased_by_this_python():
    # Between letters each, so that word characters join and others separate; the capital sigma in its contexts.
    every = [f"ab{chr(c)}cd {chr(c)}{chr(c)}x A{chr(c)}Σ" for c in range(sys.maxunicode + 1)]
    for start in range(0, len(every), 0x8000):
        check([" ".join(every[start : start + 0x8000])])
    plain = [f"Q{chr(c)}Q" for c in range(sys.maxunicode + 1) if c != 0x3A3]
    for start in range(0, len(plain), 0x10000):
        check([" ".join(plain[start : start + 0x10000])])


def test_white_space_is_that_of_this_python():
    every = "".join(f"x{chr(c)}{chr(c)}{chr(c)}" for c in range(0x3100))
    check([every], analyzer="char", ngram_range=(2, 3))
    check([every], analyzer="char_wb", ngram_range=(2, 3))


def test_huge_documents_are_read_in_pieces():
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(500)] + ["é" * k for k in range(2, 9)] + ["世界", "z" * 40]
    text = " ".join(rng.choice(words, 60_000))
    check([text, "no", text[:70_000]])
    check([text[:150_000]], ngram_range=(1, 3))
    check([text[:150_000]], analyzer="char", ngram_range=(1, 4))
    check(["é" * 100_000, "é\u3000" * 50_000 + "世" * 40_000])  # no ASCII separator anywhere


def test_a_vocabulary_is_reused():
    fitted = WordCounter().count(ODD[:14])
    oracle = CountVectorizer().fit(ODD[:14])
    for texts in (ODD, ODD[14:], ["the unknown cat é", ""]):
        counted = WordCounter().count(texts, fitted.vocabulary)
        matrix = oracle.transform(texts)
        matrix.sort_indices()
        assert np.array_equal(counted.indices, matrix.indices) and np.array_equal(counted.data, matrix.data)
        assert np.array_equal(counted.indptr, matrix.indptr)
        # Unknown words count in the lengths.
        assert np.array_equal(counted.lengths, WordCounter().count(texts).lengths)
        assert counted.vocabulary is fitted.vocabulary


def test_words_keep_the_columns_they_are_given():
    vocabulary = Vocabulary(["zebra", "ape", "long" * 9, "é\ud800"])
    assert len(vocabulary) == 4 and vocabulary.column("ape") == 1 and vocabulary.column("cat") == -1
    assert "zebra" in vocabulary and 7 not in vocabulary and "zebr" not in vocabulary
    counted = WordCounter().count(["Ape zebra APE cat " + "LONG" * 9], vocabulary)
    assert counted.indices.tolist() == [0, 1, 2] and counted.data.tolist() == [1, 2, 1]
    assert counted.lengths.tolist() == [5] and counted.words is vocabulary.words
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again == vocabulary and again.words.tolist() == vocabulary.words.tolist()
    assert repr(again) == "Vocabulary of 4 words" and hash(again) == hash(vocabulary)
    assert vocabulary != Vocabulary(np.array(["zebra", "ape"])) and vocabulary != "zebra"


def test_bad_vocabularies_are_refused():
    with pytest.raises(ValueError, match="word 2 of the vocabulary, 'a', stands in it twice"):
        Vocabulary(["a", "b", "a"])
    with pytest.raises(TypeError, match="word 1 of the vocabulary is a <class 'int'>, no str"):
        Vocabulary(["a", 1])
    with pytest.raises(TypeError, match=r"pass \[word\]"):
        Vocabulary("word")
    with pytest.raises(TypeError, match=r"pass Vocabulary\(words\)"):
        WordCounter().count(["a"], ["a"])
    with pytest.raises(ValueError, match="with hash_bits there is no vocabulary"):
        WordCounter(hash_bits=8).count(["a"], Vocabulary(["a"]))


def test_an_empty_vocabulary_knows_no_word():
    counted = WordCounter().count(["one two", ""], Vocabulary([]))
    assert counted.matrix.shape == (2, 0) and counted.lengths.tolist() == [2, 0]


def kinds(texts: list[str | None]) -> dict[str, object]:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return {
        "tuple": tuple(texts),
        "generator": (text for text in texts),
        "objects": array,
        "every other object": np.repeat(array, 2)[::2],
        "pandas objects": pd.Series(texts, dtype=object),
        "pandas index": pd.Index(texts, dtype=object),
        "pandas strings": pd.Series(texts, dtype="str"),
        "pandas python strings": pd.Series(texts, dtype=pd.StringDtype("python")),
        "pandas pyarrow strings": pd.Series(texts, dtype=pd.StringDtype("pyarrow")),
        "pandas arrow": pd.Series(texts, dtype=pd.ArrowDtype(pa.large_string())),
        "pandas categories": pd.Series(texts, dtype="category"),
        "polars": pl.Series(texts, dtype=pl.String),
        "polars categories": pl.Series(texts, dtype=pl.Categorical),
        "pyarrow": pa.array(texts, pa.string()),
        "pyarrow slice": pa.array(["no", *texts, "no"], pa.string())[1:-1],
        "pyarrow large": pa.array(texts, pa.large_string()),
        "pyarrow views": pa.array(texts, pa.string_view()),
        "pyarrow bytes": pa.array([t if t is None else t.encode() for t in texts], pa.binary()),
        "pyarrow chunks": pa.chunked_array([texts[:3], [], texts[3:]], pa.string()),
        "pyarrow dictionary": pa.array(texts, pa.string()).dictionary_encode(),
        "bytes": [t if t is None else t.encode() for t in texts],
    }


@pytest.mark.parametrize("settings", [{}, {"analyzer": "char"}, {"strip_accents": "unicode"}], ids=str)
@pytest.mark.parametrize("kind", list(kinds(["a", "b", "c", "d"])))
def test_all_kinds_of_input_give_the_same(kind, settings):
    clean = [text.encode(errors="ignore").decode() for text in ODD]
    texts = [*clean[:5], None, *clean[5:], None]
    expected = WordCounter(**settings).count(texts)
    assert expected.missing.tolist() == [text is None for text in texts]
    counted = WordCounter(**settings).count(kinds(texts)[kind])
    equal(counted, expected)
    assert counted.words.tolist() == expected.words.tolist()


def test_fixed_width_strings_are_read():
    expected = WordCounter().count(["the cat", "été"])
    equal(WordCounter().count(np.array(["the cat", "été"])), expected)
    equal(WordCounter().count(np.array(["the cat", "été"], dtype=np.dtypes.StringDType())), expected)
    equal(WordCounter().count(np.char.encode(np.array(["the cat", "été"]))), expected)


def test_missing_texts_are_reported_and_empty():
    texts = ["the cat", None, float("nan"), np.nan, pd.NA, pd.NaT, np.float64("nan"), ""]
    counted = WordCounter().count(texts)
    assert counted.missing.tolist() == [False] + [True] * 6 + [False]
    assert counted.lengths.tolist() == [2] + [0] * 7
    counted = WordCounter().count(pa.nulls(3))
    assert counted.missing.all() and counted.n_rows == 3 and counted.n_columns == 0
    assert WordCounter().count([]).matrix.shape == (0, 0)
    assert WordCounter().count(pl.Series([], dtype=pl.String)).n_rows == 0


def test_bytes_that_are_no_utf8_separate_words():
    broken = [b"ab\xffcd", b"\xc3", b"ab\xe2\x82", b"\xf0\x9f\x98cd \xed\xa0\x80 ab", "Σ".encode() + b"A\xff"]
    for settings in ({}, {"strip_accents": "unicode"}, {"analyzer": "char"}):
        if settings:
            texts = [b.decode("utf-8", "replace") for b in broken if b"\xed" not in b]
            given = [b for b in broken if b"\xed" not in b]
        else:
            texts, given = [b.decode("utf-8", "replace") for b in broken], broken
        expected = WordCounter(**settings).count(texts)
        equal(WordCounter(**settings).count(given), expected)
        equal(WordCounter(**settings).count(pa.array(given, pa.binary())), expected)


@pytest.mark.parametrize(
    "texts, error, message",
    [
        ("one text", TypeError, r"this is one str; for one text pass \[text\]"),
        (b"one text", TypeError, r"this is one bytes"),
        ({"a": 1}, TypeError, r"this is one dict"),
        ({"a"}, TypeError, r"this is one set"),
        (7, TypeError, "this is of type int"),
        (None, TypeError, "this is of type NoneType"),
        (["a", "b", 7], TypeError, r"row 2: a text must be a str, .* type int; convert it with str"),
        (["a", ["b"]], TypeError, "row 1: .* of type list"),
        ([1.5], TypeError, "row 0: .* of type float"),
        (np.array([1, 2]), TypeError, r"this array holds int64; convert it with .astype\(str\)"),
        (np.array([["a"]]), ValueError, r"shape \(1, 1\); pass one column"),
        (pd.Series([1, 2]), TypeError, "this array holds int64"),
        (pd.Series([1, 2], dtype="category"), TypeError, "row 0: .* of type int"),
        (pd.DataFrame({"a": ["b"]}), TypeError, "this column is of type Struct"),
        (pl.Series([1, 2]), TypeError, "this column is of type number; convert it to strings"),
        (pl.DataFrame({"a": ["b"]}), TypeError, "this column is of type Struct"),
        (pa.array([["a"]]), TypeError, "this column is of type List"),
    ],
    ids=str,
)
def test_what_is_no_text_is_refused(texts, error, message):
    with pytest.raises(error, match=message):
        WordCounter().count(texts)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"analyzer": "words"}, "analyzer must be"),
        ({"strip_accents": "all"}, "strip_accents must be"),
        ({"ngram_range": (0, 1)}, "1 <= lowest <= highest"),
        ({"ngram_range": (2, 1)}, "1 <= lowest <= highest"),
        ({"ngram_range": 2}, "two whole numbers"),
        ({"ngram_range": (1, 1.5)}, "two whole numbers"),
        ({"ngram_range": (1, 2, 3)}, "two whole numbers"),
        ({"hash_bits": 0}, "from 1 to 31"),
        ({"hash_bits": 32}, "from 1 to 31"),
        ({"hash_bits": True}, "from 1 to 31"),
        ({"stop_words": "english"}, "a list of words"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        WordCounter(**settings)


def test_stop_words_must_be_words():
    with pytest.raises(TypeError, match="is a <class 'int'>, no str"):
        WordCounter(stop_words=[1]).count(["a"])


def test_far_n_grams_are_not_there():
    assert WordCounter(ngram_range=(10**30, 10**31)).count(["one two"]).n_columns == 0
    assert WordCounter(ngram_range=(1, 10**31)).count(["one two"]).n_columns == 3


def test_strings_of_another_type_are_strings():
    class Odd(str):
        def isascii(self):
            return True

        def encode(self, *arguments):
            raise RuntimeError("no")

    odd = ["été Σ", "cat", "ab\ud800cd"]
    equal(WordCounter().count([*map(Odd, odd), np.str_("cat")]), WordCounter().count([*odd, "cat"]))


CORPUS = [
    " ".join(text for text in np.random.default_rng(k).choice([t[:300] for t in ODD], 12)) for k in range(400)
]


@pytest.mark.parametrize(
    "settings", [{}, {"hash_bits": 12}, {"ngram_range": (1, 2)}, {"analyzer": "char_wb"}], ids=str
)
def test_threads_change_no_bit(settings):
    one = WordCounter(**settings).count(CORPUS, n_jobs=1)
    for n_jobs in (2, 3, 7):
        equal(WordCounter(**settings).count(CORPUS, n_jobs=n_jobs), one)
        if one.vocabulary is not None:
            equal(WordCounter(**settings).count(CORPUS, one.vocabulary, n_jobs=n_jobs), one)


def test_rows_are_canonical():
    for settings in ({}, {"hash_bits": 4}, {"hash_bits": 31}):
        counted = WordCounter(**settings).count(CORPUS)
        for start, end in itertools.pairwise(counted.indptr):
            assert (np.diff(counted.indices[start:end]) > 0).all()
        assert counted.indptr.dtype == np.int64 and counted.indices.dtype == np.int32
        assert counted.matrix.has_sorted_indices and counted.matrix.shape == (400, counted.n_columns)


def fnv(token: str, bits: int) -> int:
    """The hash as its authors publish it, and as WordCounter's docstring says."""
    h = 0xCBF29CE484222325
    for byte in token.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return (h ^ h >> 32) % 2**bits


def test_hashed_columns_are_the_same_for_ever():
    # Written down: a model that was stored with hashed columns must find them again.
    expected = {"the": 269413, "cat": 500798, "été": 1021785, "世界": 546632}
    for token, column in expected.items():
        counted = WordCounter(hash_bits=20).count([token])
        assert counted.indices.tolist() == [column] == [fnv(token, 20)]
        assert counted.words is None and counted.vocabulary is None and counted.n_columns == 2**20


def test_hashed_counts_are_the_counts():
    known = WordCounter().count(ODD)
    hashed = WordCounter(hash_bits=31).count(ODD)
    columns = np.array([fnv(word, 31) for word in known.words])
    assert len(set(columns.tolist())) == len(columns)
    order = known.matrix.tocoo()
    expected = sorted(zip(order.row.tolist(), columns[order.col].tolist(), order.data.tolist(), strict=True))
    rows = np.repeat(np.arange(hashed.n_rows), hashed.distinct)
    found = zip(rows.tolist(), hashed.indices.tolist(), hashed.data.tolist(), strict=True)
    assert list(found) == expected
    # Few columns: what falls together adds up.
    few = WordCounter(hash_bits=3).count(ODD)
    assert np.array_equal(few.matrix.sum(axis=1), known.matrix.sum(axis=1)) and few.n_columns == 8
    assert set(WordCounter(hash_bits=3, binary=True).count(ODD).data.tolist()) == {1.0}


def test_counters_are_values():
    counter = WordCounter(ngram_range=[1, 2], stop_words=["the", "the"])
    counter.count(["the cat"])
    for other in (pickle.loads(pickle.dumps(counter)), copy.deepcopy(counter)):
        assert other == counter and hash(other) == hash(counter)
        equal(other.count(["the cat sat"]), counter.count(["the cat sat"]))
    assert counter.ngram_range == (1, 2) and counter.stop_words == {"the"}


def test_texts_stay_as_large_as_they_are():
    text = unicodedata.normalize("NFC", "é" * 1000)
    size = sys.getsizeof(text)
    WordCounter().count([text])
    assert sys.getsizeof(text) == size  # no UTF-8 is left behind in it


def documents(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("settings", [{}, {"ngram_range": (1, 2)}], ids=["words", "pairs"])
def test_messages_are_counted_as_by_scikit_learn(find_data, settings):
    texts = [row["text"] for row in documents(find_data("sms-spam.jsonl.gz"))]
    oracle = CountVectorizer(**settings)
    counted = WordCounter(**settings).count(texts)
    same(counted, oracle, oracle.fit_transform(texts))
    equal(WordCounter(**settings).count(pl.Series(texts)), counted)


@pytest.mark.slow
def test_newsgroups_are_counted_as_by_scikit_learn(find_data):
    rows = documents(find_data("20news-bydate.jsonl.gz"))
    train, test = ([row["text"] for row in rows if row["split"] == split] for split in ("train", "test"))
    oracle = CountVectorizer()
    matrix = oracle.fit_transform(train)
    counted = WordCounter().count(train)
    same(counted, oracle, matrix)
    assert (counted.n_columns, len(counted.data), counted.lengths.sum()) == (130_107, 1_787_565, 3_369_673)
    equal(WordCounter().count(pl.Series(train)), counted)
    known = WordCounter().count(test, Vocabulary(counted.words))
    matrix = oracle.transform(test)
    matrix.sort_indices()
    assert np.array_equal(known.indices, matrix.indices) and np.array_equal(known.data, matrix.data)
    assert np.array_equal(known.indptr, matrix.indptr)
