"""Files and other sources as input of TextNB and of the single-family classes: the model of the same rows in memory."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import sunrise as sr
from sunrise.estimators import source_fit
from sunrise.streams import batches, files_arrow, files_text

RNG = np.random.default_rng(12)
WORDS = np.array(["sun", "moon", "rain", "wind", "snow", "ice", "tea", "cup"])


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    for module in (batches, files_arrow, files_text):
        monkeypatch.setattr(module, "BATCH", 150)


def reviews(n: int = 600) -> pl.DataFrame:
    y = RNG.integers(0, 2, n)
    texts = [" ".join(RNG.choice(WORDS[k : k + 6], RNG.integers(1, 8))) for k in (2 * y).tolist()]
    table = pl.DataFrame(
        {"stars": RNG.integers(1, 6, n), "body": texts, "label": np.array(["bad", "good"])[y]}
    )
    return table.with_columns(
        body=pl.when(pl.Series(RNG.random(n) < 0.05)).then(None).otherwise(pl.col("body"))
    )


def numbers(n: int = 600) -> pl.DataFrame:
    y = RNG.integers(0, 3, n)
    counts = RNG.poisson(1.0 + y[:, None] * [0.2, 0.5, 0.0], (n, 3)) % 7
    table = pl.DataFrame({"a": counts[:, 0], "b": counts[:, 1], "c": counts[:, 2], "y": y})
    return table.with_columns(w=RNG.choice([0.0, 1.0, 2.0], n))


@pytest.mark.parametrize("settings", [{"calibrate": None}, {"model": "multinomial"}, {"hash_bits": 12}])
def test_text_of_files(tmp_path, settings):
    table = reviews()
    for k in range(2):
        table[300 * k : 300 * (k + 1)].write_parquet(tmp_path / f"{k}.parquet")
    model = sr.TextNB(**settings).fit(str(tmp_path / "*.parquet"), y="label")
    memory = sr.TextNB(**settings).fit(table["body"].to_list(), table["label"].to_list())
    documents = table["body"].to_list()[:100]
    assert model.classes_.tolist() == ["bad", "good"]
    np.testing.assert_allclose(
        model.predict_proba(documents), memory.predict_proba(documents), rtol=1e-7, atol=1e-9
    )
    assert model.score(str(tmp_path / "*.parquet"), "label") == pytest.approx(
        memory.score(table["body"].to_list(), table["label"].to_list()), abs=1e-12
    )
    n = model.predict_proba(str(tmp_path / "*.parquet"), to=tmp_path / "out.parquet")
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert n == len(written) == 600
    np.testing.assert_allclose(
        written["good"], memory.predict_proba(table["body"].to_list())[:, 1], rtol=1e-7
    )


def test_a_sample_calibrates_many_documents(tmp_path, monkeypatch):
    monkeypatch.setattr(source_fit, "SAMPLED", 200)
    table = reviews()
    table.write_csv(tmp_path / "all.csv")
    model = sr.TextNB().fit(tmp_path / "all.csv", y="label")
    plain = sr.TextNB(calibrate=None).fit(table["body"].to_list(), table["label"].to_list())
    assert model._model.calibration is not None
    assert model.class_count_.sum() == 600
    np.testing.assert_array_equal(model.stats_.blocks[0].words, plain.stats_.blocks[0].words)
    np.testing.assert_allclose(model.stats_.blocks[0].sums, plain.stats_.blocks[0].sums, rtol=1e-12)


def test_text_grows_by_files_and_by_lazy_tables(tmp_path):
    table = reviews()
    table[:200].write_parquet(tmp_path / "a.parquet")
    model = sr.TextNB(calibrate=None).fit(tmp_path / "a.parquet", y="label")
    model.partial_fit(table[200:400].lazy(), y="label")
    model.partial_fit([table[400:500], table[500:]], y="label")
    memory = sr.TextNB(calibrate=None).fit(table["body"].to_list(), table["label"].to_list())
    np.testing.assert_array_equal(model.stats_.blocks[0].codes, memory.stats_.blocks[0].codes)
    np.testing.assert_allclose(model.stats_.blocks[0].weight, memory.stats_.blocks[0].weight, rtol=1e-12)


def test_which_column_is_the_text(tmp_path):
    table = reviews().with_columns(title=pl.lit("sun"))
    table.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        ValueError, match=r"2 columns of text \('body', 'title'\).*read_files\(paths, columns"
    ):
        sr.TextNB().fit(tmp_path / "a.parquet", y="label")
    source = sr.read_files(tmp_path / "a.parquet", columns=["body", "label"])
    assert sr.TextNB().fit(source, y="label").class_count_.sum() == 600
    with pytest.raises(ValueError, match=r"no column 'bodi'. Do you mean 'body'"):
        sr.TextNB().fit(sr.read_files(tmp_path / "a.parquet", columns=["bodi", "label"]), y="label")
    table.select("stars", pl.col("stars").alias("more"), "label").write_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="no column of text"):
        sr.TextNB().fit(tmp_path / "b.parquet", y="label")


CLASSES = [
    sr.GaussianNB(),
    sr.BernoulliNB(binarize=0.5),
    sr.MultinomialNB(),
    sr.ComplementNB(),
    sr.CategoricalNB(),
    sr.PoissonNB(),
    sr.KernelNB(),
    sr.DirichletMultinomialNB(),
]


@pytest.mark.parametrize("estimator", CLASSES, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("weight", [None, "w"])
def test_numbers_of_files(tmp_path, estimator, weight):
    table = numbers()
    columns = ["a", "b", "c", "y"] if weight is None else table.columns
    table.select(columns).write_parquet(tmp_path / "all.parquet")
    X, y = table.select("a", "b", "c"), table["y"].to_numpy()
    make = lambda: type(estimator)(**estimator.get_params())  # noqa: E731
    model = make().fit(tmp_path / "all.parquet", y="y", sample_weight=weight)
    memory = make().fit(X, y, sample_weight=None if weight is None else table["w"].to_numpy())
    assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
    np.testing.assert_allclose(model.predict_proba(X), memory.predict_proba(X), rtol=1e-9, atol=1e-12)
    n = model.predict_proba(tmp_path / "all.parquet", to=tmp_path / "out.parquet")
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert n == len(written) == 600
    np.testing.assert_allclose(written["2"], memory.predict_proba(X)[:, 2], rtol=1e-9, atol=1e-12)
    assert (
        model.score(tmp_path / "all.parquet", "y") == pytest.approx(memory.score(X, y))
        if weight is None
        else True
    )


def test_streams_and_errors_of_single_families(tmp_path):
    table = numbers()
    model = sr.GaussianNB().fit(table.drop("w").lazy(), y="y")
    memory = sr.GaussianNB().fit(table.select("a", "b", "c"), table["y"].to_numpy())
    np.testing.assert_allclose(model.theta_, memory.theta_, rtol=1e-12)
    np.testing.assert_allclose(model.var_, memory.var_, rtol=1e-12)
    model.partial_fit([table.drop("w")], y="y")
    assert model.class_count_.sum() == 1200
    reviews().write_parquet(tmp_path / "text.parquet")
    with pytest.raises(ValueError, match=r"column 'body' .*GaussianNB takes numbers.*columns=\["):
        sr.GaussianNB().fit(tmp_path / "text.parquet", y="label")
    with pytest.raises(ValueError, match="Do you mean 'label'"):
        sr.GaussianNB().fit(tmp_path / "text.parquet", y="labels")
    with pytest.raises(ValueError, match="not a table or an array"):
        sr.GaussianNB().fit(str(tmp_path / "text.parquet"), [0, 1])
