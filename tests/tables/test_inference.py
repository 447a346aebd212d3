"""The rules of sunrise.infer, one by one: which family a column gets where none is given."""

from __future__ import annotations

import uuid
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sunrise import Categorical, Gaussian, NaiveBayes, NoColumnsWarning, Poisson
from sunrise.datasets import load_heart_disease

N = 120
Y = np.array(["a", "b"] * (N // 2))
RNG = np.random.default_rng(11)


def chosen(X, y=None, weight=None, families="auto-fast"):
    """The family of every column, None where it is left out, and the reasons."""
    labels = Y if y is None else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoColumnsWarning)
        schema = NaiveBayes(families).fit(X, labels, sample_weight=weight)._model.schema
    names = {
        name: None if choice.family is None else choice.family.name
        for name, choice in zip(schema.names, schema.choices, strict=True)
    }
    return names, {name: choice.reason for name, choice in zip(schema.names, schema.choices, strict=True)}


def family(column, y=None, weight=None):
    """The family of a single column."""
    return chosen({"it": column}, y, weight)[0]["it"]


# Rule 1: columns that say nothing.


@pytest.mark.parametrize(
    "column",
    [
        [None] * N,
        [float("nan")] * N,
        [3] * N,
        [0.5] * N,
        [0.0, -0.0] * (N // 2),
        [0.5, None] * (N // 2),
        ["same"] * N,
        ["same", None] * (N // 2),
        [True] * N,
        [None, False] * (N // 2),
        pd.Series(["same"] * N, dtype=pd.CategoricalDtype(["same", "other"])),
    ],
)
def test_columns_without_any_difference_are_left_out_with_a_reason(column):
    names, reasons = chosen({"it": column, "x": RNG.normal(size=N)})
    assert names == {"it": None, "x": "gaussian"}
    assert reasons["it"].startswith("left out")


def test_a_constant_float_that_is_no_whole_number_is_found_however_long():
    X = {"it": np.full(10_000, 0.1), "late": np.r_[np.full(9_999, 0.1), 0.2]}
    assert chosen(X, np.arange(10_000) % 2)[0] == {"it": None, "late": "gaussian"}


# Rule 2: text.


def texts(n, words=8):
    vocabulary = ["wonderful", "terrible", "service", "delivery", "never", "again", "would", "recommend"]
    return [" ".join(np.random.default_rng(k).choice(vocabulary, words)) + f" {k}" for k in range(n)]


def test_free_text_is_text():
    assert family(texts(N)) == "text"


def test_text_may_be_taken_for_levels_or_left_out():
    assert chosen({"review": texts(N)}, families={"review": "categorical"})[0] == {"review": "categorical"}
    assert (
        chosen({"review": texts(N), "x": RNG.normal(size=N)}, families={"review": None})[0]["review"] is None
    )


def test_long_strings_that_repeat_are_categories():
    assert family(texts(6) * (N // 6)) == "categorical"


def test_long_strings_of_few_words_are_no_text():
    assert family([f"{'x' * 60}-{k % 9}" for k in range(N)]) == "categorical"


# Rule 3: names and numbers of the rows.


TITANIC = [
    "Braund, Mr. Owen Harris",
    "Heikkinen, Miss. Laina",
    "Allen, Mr. William Henry",
    "Moran, Mr. James",
]


@pytest.mark.parametrize(
    "column",
    [
        [str(uuid.UUID(int=k * 7919)) for k in range(N)],
        [f"{TITANIC[k % 4]} {k}" for k in range(N)],
        [f"row{k}" if k % 12 else "row1" for k in range(N)],
        [None if k % 3 else f"row{k}" for k in range(N)],
        pd.Series([f"row{k}" for k in range(N)], dtype="category"),
        pl.Series([f"row{k}" for k in range(N)]).cast(pl.Categorical),
        list(range(N)),
        list(range(1, 2 * N, 2))[::-1],
        np.arange(N) + 892.0,
        [None if k % 2 else k for k in range(N)],
    ],
)
def test_columns_that_name_the_rows_are_left_out_with_a_reason(column):
    names, reasons = chosen({"id": column, "x": RNG.normal(size=N)})
    assert names["id"] is None and reasons["id"].startswith("left out")


def test_a_few_different_strings_are_categories_not_names():
    assert family([f"row{k}" for k in range(19)], Y[:19]) == "categorical"
    assert family([f"row{k}" for k in range(20)], Y[:20]) is None


def test_strings_of_which_fewer_than_nine_in_ten_differ_are_categories():
    assert family([f"v{k % 107}" for k in range(N)]) == "categorical"
    assert family([f"v{k % 108}" for k in range(N)]) is None


def test_few_numbers_or_numbers_with_large_gaps_do_not_number_the_rows():
    assert family(np.arange(49), Y[:49]) in ("gaussian", "poisson")
    assert family(np.arange(50), Y[:50]) is None
    assert family(np.arange(N) * 7) == "gaussian"
    assert family(np.r_[np.arange(N - 1), 5]) == "gaussian"


@pytest.mark.parametrize("n", [120, 1000, 5000])
def test_distinct_whole_numbers_are_identifiers_only_if_measurements_would_repeat(n):
    rng = np.random.default_rng(n)
    y = np.arange(n) % 2
    for width in (n * n // 30, n * n):  # 15 and 0.5 expected repeats
        customers = rng.permutation(width)[:n] + 10_000
        assert family(customers, y) == (None if width < n * n else "gaussian")
        assert family(customers.astype(float), y) == family(customers, y)
        assert family(customers[::-1].copy(), y) == family(customers, y)
    repeated = np.r_[customers := rng.permutation(n * n // 30)[: n - 1], customers[7]]
    assert family(repeated, y) in ("gaussian", "poisson")
    # Cents of a skewed income repeat where they are dense, or are spread too far to tell.
    for scale in (1.0, 100.0):
        cents = np.rint(np.exp(rng.normal(10, 1, n)) * scale)
        assert family(cents, y) == "gaussian"


def test_rows_that_count_twice_have_no_identifier():
    ids = np.random.default_rng(0).permutation(600)[:120]
    assert family(ids) is None
    assert family(ids, weight=np.full(N, 2.0)) == "gaussian"


def test_few_rows_do_not_make_a_category_of_a_measurement():
    heart = load_heart_disease("pandas").frame
    for n in (10, 20):
        first = heart.iloc[:n]
        for families in ("auto", "auto-fast"):
            chosen_names, reasons = chosen(first.drop(columns="disease"), first["disease"], families=families)
            assert chosen_names["age"] in ("gaussian", "poisson")
            assert chosen_names["blood_pressure"] in ("gaussian", "poisson")
            assert chosen_names["vessels"] == ("categorical" if n == 20 else "poisson")
            assert ("too few rows to compare families" in reasons["age"]) == (families == "auto")
    fitted = NaiveBayes().fit(heart.iloc[:20], "disease").check(heart.iloc[20:])
    assert fitted.set_index("column")["unseen"][["age", "blood_pressure"]].sum() == 0


def test_short_texts_are_text_and_names_are_not():
    rng = np.random.default_rng(0)
    words = [
        "good",
        "bad",
        "phone",
        "battery",
        "screen",
        "cheap",
        "weak",
        "fast",
        "does",
        "not",
        "work",
        "it",
    ]
    short = [" ".join(rng.choice(words, 7)) for _ in range(N)]
    assert 25 < np.mean([len(text) for text in short]) < 36
    assert family(short) == "text"
    assert family([" ".join(text.split()[:3]) + str(k) for k, text in enumerate(short)]) is None


@pytest.mark.parametrize("tokens", [["?"], ["?", "NA"], ["-", "", "nan"]])
def test_a_token_among_numbers_is_named_with_its_count_and_the_remedy(tokens):
    column = [str(k % 90) if k % 12 else tokens[k // 12 % len(tokens)] for k in range(N)]
    words = [f"word {token}" if token in tokens else token for token in column]
    # Declared categories are what the user says they are, and other words may mean something.
    for cells in (words, pl.Series(words), pd.Series(column, dtype="category")):
        _, reasons = chosen({"it": cells})
        for token in tokens:
            assert f"{token}'" in reasons["it"]
        assert "in 10 cells" in reasons["it"] and "by None and convert the column to numbers" in reasons["it"]
    _, reasons = chosen({"it": [f"{k % 9}" if k % 2 else f"type {k % 7}" for k in range(N)]})
    assert "convert" not in reasons["it"]


# Rules 4 and 5: yes and no, categories, few whole numbers.


@pytest.mark.parametrize(
    "column",
    [
        [True, False] * (N // 2),
        [True, None, False] * (N // 3),
        pd.Series([True, None, False] * (N // 3), dtype="boolean"),
        pl.Series([True, None, False] * (N // 3)),
    ],
)
def test_yes_and_no_are_bernoulli(column):
    assert family(column) == "bernoulli"


@pytest.mark.parametrize(
    "column",
    [
        ["u", "v", "w"] * (N // 3),
        ["u", "v", None] * (N // 3),
        pd.Series(["u", "v", "w"] * (N // 3), dtype="category"),
        pd.Series([1, 2, 3] * (N // 3), dtype="category"),
        pd.Series(RNG.integers(0, 30, N) / 4, dtype="category"),
        pl.Series(["u", "v", "w"] * (N // 3), dtype=pl.Enum(["u", "v", "w", "x"])),
        [0, 1] * (N // 2),
        [1, 2] * (N // 2),
        [-1, 1] * (N // 2),
        [k % 20 for k in range(N)],
        [1.0, 2.0, None] * (N // 3),
    ],
)
def test_strings_categories_and_few_whole_numbers_are_categorical(column):
    assert family(column) == "categorical"


def test_ones_and_twos_are_not_a_constant():
    # Trap 8: read as "above 0 or not", a column of ones and twos says nothing.
    X = {"it": np.where(Y == "a", 1, 2)}
    assert NaiveBayes().fit(X, Y).score(X, Y) == 1.0


def test_twenty_one_whole_numbers_are_too_many_for_categories():
    assert family([k % 20 for k in range(N)]) == "categorical"
    assert family([(k % 21) * 50 for k in range(N)]) == "gaussian"


# Rules 6 and 7: counts and measurements.


def test_counts_whose_variance_is_about_their_mean_are_poisson():
    assert family(np.random.default_rng(0).poisson(40, N)) == "poisson"
    assert family(np.random.default_rng(0).poisson(40, N).astype(float)) == "poisson"


def test_the_variance_is_looked_at_within_the_classes():
    rng = np.random.default_rng(0)
    apart = np.where(Y == "a", rng.poisson(20, N), rng.poisson(90, N))
    assert apart.var() / apart.mean() > 10
    assert family(apart) == "poisson"


def test_one_class_that_is_no_poisson_is_enough_against_it():
    rng = np.random.default_rng(0)
    half = np.where(Y == "a", rng.poisson(40, N), rng.integers(0, 200, N))
    assert family(half) == "gaussian"
    assert family(np.where(Y == "a", rng.poisson(40, N), 40)) == "gaussian"


def test_integer_prices_are_measurements_not_a_table_of_levels():
    # Trap 8: a table of 100,001 cells.
    prices = np.random.default_rng(0).integers(1, 100_001, N)
    prices[0] = 100_000
    assert family(prices) == "gaussian"


@pytest.mark.parametrize(
    "column",
    [RNG.normal(size=N), RNG.integers(-60, 60, N), RNG.random(N).astype("f4"), 0.5 + np.arange(N) % 2],
)
def test_other_numbers_are_gaussian(column):
    assert family(column) == "gaussian"


def test_a_class_with_a_single_cell_does_not_decide():
    counts = np.random.default_rng(0).poisson(40, N)
    y = np.where(np.arange(N) == 7, "rare", Y)
    assert family(counts, y) == "poisson"


# What does not matter: order, type, library, units of weight.


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).poisson(40, N),
        np.random.default_rng(0).integers(0, 9, N),
        np.random.default_rng(0).integers(-200, 900, N),
        np.arange(N),
    ],
)
def test_whole_floats_are_whole_numbers(column):
    with_gap = [None, *column[1:].tolist()]
    kinds = [
        column.astype(float), column.astype("f4"), pl.Series(column), pd.Series(column, dtype="Int32"),
        column.tolist(), column.astype(object), with_gap, pd.Series(with_gap), pl.Series(with_gap),
    ]  # fmt: skip
    assert {family(kind) for kind in kinds} == {family(column)}


def mixture(n=200, seed=0):
    """A table with a column for every rule."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "constant": 7,
            "id": rng.permutation(n),
            "key": [f"k{k}" for k in range(n)],
            "flag": rng.random(n) < 0.5,
            "town": rng.choice(["u", "v", "w"], n),
            "few": rng.integers(0, 5, n),
            "count": rng.poisson(40, n),
            "price": rng.integers(1, 10_000, n),
            "size": rng.normal(size=n),
        }
    )


MIXTURE = {
    "constant": None, "id": None, "key": None, "flag": "bernoulli", "town": "categorical", "few": "categorical",
    "count": "poisson", "price": "gaussian", "size": "gaussian",
}  # fmt: skip


@given(order=st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(order):
    X, y = mixture(), np.array(["a", "b"] * 100)
    turn = np.random.default_rng(order).permutation(200)
    assert chosen(X.iloc[turn], y[turn])[0] == MIXTURE


def test_rows_of_weight_0_are_not_there():
    rng = np.random.default_rng(1)
    X = mixture()
    junk = X.sample(60, random_state=0).assign(
        constant=8, id=-5, key="k0", town=[f"t{k}" for k in range(60)], few=rng.integers(0, 900, 60),
        count=rng.integers(0, 10**6, 60), price=0.5,
    )  # fmt: skip
    table = pd.concat([X.astype({"price": float}), junk], ignore_index=True)
    weight = np.r_[np.ones(200), np.zeros(60)]
    assert chosen(table, ["a", "b"] * 130, weight)[0] == MIXTURE


def test_infinity_in_a_row_of_weight_0_does_no_harm_and_one_in_a_row_that_counts_is_found():
    X = {"x": np.r_[RNG.normal(size=N - 1), np.inf]}
    weight = np.r_[np.ones(N - 1), 0.0]
    with pytest.raises(ValueError, match="infinity: inf in column 'x', row 119"):
        NaiveBayes().fit(X, Y)
    assert family(X["x"], weight=weight) == "gaussian"


@given(seed=st.integers(0, 200), most=st.integers(1, 4))
def test_a_whole_weight_is_that_many_rows(seed, most):
    rng = np.random.default_rng(seed)
    X, y = mixture(120, seed), np.array(["a", "b"] * 60)
    weight = rng.integers(0, most + 1, 120)
    weight[:2] = 1
    rows = np.repeat(np.arange(120), weight)
    weighted, repeated = chosen(X, y, weight), chosen(X.iloc[rows], y[rows])
    assert weighted[0] == repeated[0]
    assert weighted[1] == repeated[1]


def test_numbers_that_come_twice_by_weight_do_not_number_the_rows():
    ids, y = np.r_[np.arange(60), np.arange(60)], np.array(["a", "b"] * 60)
    weight = np.r_[np.full(60, 2.0), np.zeros(60)]
    assert family(ids, y, weight) == family(np.repeat(np.arange(60), 2), np.repeat(y[:60], 2)) == "gaussian"


def test_names_that_come_twice_by_weight_are_no_names_of_rows():
    names = [f"row{k}" for k in range(30)]
    assert family(names, Y[:30]) is None
    assert family(names, Y[:30], np.full(30, 2.0)) == "categorical"


def test_only_the_proportions_of_small_weights_matter():
    assert chosen(mixture(), ["a", "b"] * 100, np.full(200, 1e-6))[0] == MIXTURE


def test_every_library_infers_the_same():
    X, y = mixture(), ["a", "b"] * 100
    polars = pl.from_pandas(X)
    kinds = [
        X,
        polars,
        polars.to_arrow(),
        X.convert_dtypes(),
        X.to_dict("list"),
        X.astype({"town": "category"}),
    ]
    reasons = [chosen(kind, y) for kind in kinds]
    assert all(reason == reasons[0] for reason in reasons)
    objects, _ = chosen(X.to_numpy(dtype=object), y)
    assert list(objects.values()) == list(MIXTURE.values())


# What the user says goes.


def test_a_family_for_all_columns():
    X = {"x": RNG.normal(size=N), "k": np.arange(N)}
    for families in ("gaussian", Gaussian()):
        assert chosen(X, families=families)[0] == {"x": "gaussian", "k": "gaussian"}


def test_families_by_column_by_name_object_class_or_none():
    X = {name: RNG.integers(0, 9, N) for name in "abcde"}
    names, reasons = chosen(
        X, families={"a": "poisson", "b": Poisson(), "c": Poisson, "d": None, "e": "auto-fast"}
    )
    assert names == {"a": "poisson", "b": "poisson", "c": "poisson", "d": None, "e": "categorical"}
    assert reasons["a"] == "given" and reasons["d"] == "left out by the user"


def test_families_of_arrays_go_by_position():
    assert chosen(np.c_[Y == "a", RNG.normal(size=N)], families={0: "poisson"})[0] == {
        0: "poisson",
        1: "gaussian",
    }


def test_a_tuple_of_columns_is_a_block():
    X = {name: RNG.integers(0, 9, N) for name in "abc"}
    model = NaiveBayes({("a", "c"): "multinomial", "b": "auto-fast"}).fit(X, Y)
    blocks = {part.columns: part.family.name for part in model._model.parts}
    assert blocks == {(0, 2): "multinomial", (1,): "categorical"}


def test_columns_that_are_called_by_tuples_are_columns_not_blocks():
    X = pd.DataFrame({("a", "x"): RNG.integers(0, 9, N), ("a", "y"): RNG.integers(0, 9, N)})
    assert chosen(X, families={("a", "x"): "poisson", ("a", "y"): "auto-fast"})[0] == {
        ("a", "x"): "poisson",
        ("a", "y"): "categorical",
    }


def test_given_families_take_columns_that_would_be_left_out():
    X = {"id": np.arange(N), "same": [3.0] * N, "key": [f"k{k}" for k in range(N)]}
    families = {"id": "gaussian", "same": "gaussian", "key": "categorical"}
    assert chosen(X, families=families)[0] == families
    model = NaiveBayes(families).fit(X, Y)
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize(
    "families, message",
    [
        ({"zz": "gaussian"}, r"'zz', which X does not have.*'a', 'b'"),
        ({("a", "zz"): "gaussian"}, r"'zz', which X does not have"),
        ({"a": "gausian"}, r"column 'a' is 'gausian'.*'gaussian'"),
        ({"a": 3}, r"column 'a' is 3"),
        ("gausian", r"'gausian'.*'gaussian'"),
        ({"a": "multinomial"}, r"several columns.*tuple"),
        ({"a": "complement"}, r"several columns.*tuple"),
        ({"a": "poisson", ("a", "b"): "gaussian"}, r"'a' twice"),
        ({("a", "a"): "gaussian"}, r"'a' twice"),
    ],
)
def test_families_that_make_no_sense_are_refused_with_a_reason(families, message):
    with pytest.raises(ValueError, match=message):
        NaiveBayes(families).fit({"a": RNG.integers(0, 9, N), "b": RNG.integers(0, 9, N)}, Y)


def test_the_label_column_has_no_family():
    with pytest.raises(ValueError, match=r"'y', which X does not have"):
        NaiveBayes({"y": "categorical"}).fit({"x": RNG.normal(size=N), "y": Y}, "y")


@pytest.mark.parametrize("name", ["poisson", "exponential", "gamma", "beta", "geometric", "multinomial"])
def test_cells_that_a_given_family_does_not_take_are_named(name):
    families = {("a", "b") if name == "multinomial" else "b": name}
    X = {"a": RNG.integers(1, 9, N), "b": [-1.5, *RNG.random(N - 1)]}
    with pytest.raises(ValueError, match=r"-1.5 in column 'b', row 0"):
        NaiveBayes(families).fit(X, Y)


# What was chosen stays.


def test_the_first_data_decides_and_later_data_keeps_to_it():
    first = {"n": [1, 2, 3, 1] * 30, "t": ["u", "v"] * 60, "constant": [1.0] * N}
    later = {"n": np.arange(N) * 7, "t": [f"k{k}" for k in range(N)], "constant": RNG.normal(size=N)}
    model = NaiveBayes().fit(first, Y)
    before = [choice.description for choice in model._model.schema.choices]
    model.partial_fit(later, Y)
    after = [choice.description for choice in model._model.schema.choices]
    assert after[:2] == before[:2]
    assert "every cell is the same so far" in before[2] and "every cell" not in after[2]  # it has woken up
    assert chosen(later)[0] == {"n": "gaussian", "t": None, "constant": "gaussian"}
    model.fit(later, Y)  # fit begins anew
    assert [choice.description for choice in model._model.schema.choices] != before


def test_later_data_may_hold_what_would_be_refused_first():
    model = NaiveBayes().fit({"t": ["u", "v"] * 60}, Y)
    assert model.partial_fit({"t": texts(N)}, Y).class_count_.sum() == 2 * N


def test_families_cannot_change_between_pieces():
    model = NaiveBayes().fit({"n": RNG.integers(0, 9, N)}, Y)
    model.set_params(families={"n": "poisson"})
    with pytest.raises(ValueError, match="fit again"):
        model.partial_fit({"n": RNG.integers(0, 9, N)}, Y)
    model.fit({"n": RNG.integers(0, 9, N)}, Y)


def test_a_family_object_keeps_its_settings():
    X = {"t": ["u", "v", "v", "w"] * 30}
    y = ["a", "a", "b", "b"] * 30
    smooth = NaiveBayes({"t": Categorical(alpha=50.0)}).fit(X, y).predict_proba({"t": ["u"]})
    plain = NaiveBayes().fit(X, y).predict_proba({"t": ["u"]})
    assert abs(smooth[0, 0] - plain[0, 0]) > 1e-4


def test_integers_beyond_floats_are_looked_at_exactly():
    ids = [2**60 + i % 3 for i in range(60)]
    for table in (pl.DataFrame({"id": ids}), {"id": ids}, pd.DataFrame({"id": ids})):
        model = NaiveBayes().fit(table, [0, 1, 1] * 20)
        assert model.fixed_families_["id"].name == "categorical"
        assert model.score(table, [0, 1, 1] * 20) == 1.0


def test_numbers_that_came_as_text_are_told():
    text = pd.DataFrame({"n": [str(k % 60) for k in range(300)]})
    assert "60 of them numbers written as text" in repr(NaiveBayes().fit(text, np.arange(300) % 2))


def test_sparse_matrices_are_one_block_and_say_why():
    words = sparse.csr_array(RNG.poisson(0.3, (60, 5)).astype(float))
    y = RNG.integers(0, 2, 60)
    for matrix, family in (
        (words, "multinomial"),
        (words * 0.5, "multinomial"),
        (words > 0, "bernoulli"),
        (-words, "gaussian"),
    ):
        told = NaiveBayes().fit(matrix.astype(float), y).families_["x0"]
        assert told["family"] == family and told["reason"].startswith("a sparse matrix of")
