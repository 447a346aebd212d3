"""keep_pairs="all": the counts of all pairs by pandas, the algebra of models that keep them, and the choice again."""

from __future__ import annotations

import copy
import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sklearn.metrics import log_loss
from sunrise.families.pair_reader import split_pair

COLUMNS = ["a", "b", "size", "weight", "n"]


def table(n: int, seed: int = 0, weak: float = 0.0) -> pd.DataFrame:
    """Rows whose class depends on a and b together, and in a share `weak` of the rows on a and n together."""
    rng = np.random.default_rng(seed)
    a, b = rng.choice(list("xyz"), n), rng.choice(["p", "q"], n)
    size, k = rng.normal(size=n), rng.integers(0, 4, n)
    label = np.where((a == "x") ^ (b == "p"), "yes", "no")
    label = np.where(rng.random(n) < 0.25, rng.permutation(label), label)
    label = np.where(rng.random(n) < weak, np.where((a == "y") ^ (k > 1), "yes", "no"), label)
    rows = pd.DataFrame({"a": a, "b": b, "size": size, "weight": size + rng.normal(size=n), "n": k})
    rows.loc[rng.random(n) < 0.05, "a"] = None
    rows.loc[rng.random(n) < 0.05, "size"] = np.nan
    return rows.assign(label=label)


ROWS = table(1500)


def keeping(**arguments) -> sr.NaiveBayes:
    return sr.NaiveBayes(keep_pairs="all", **arguments)


@pytest.fixture(scope="module")
def kept() -> sr.NaiveBayes:
    return keeping().fit(ROWS, "label")


def pair_counts(model) -> dict[tuple, dict[tuple, float]]:
    """The weight of every (class, level, level) of every pair that a model scores or counts."""
    schema, stats = model.schema_, model.stats_
    sources = []
    if schema.pairs:
        sources.append((schema.pairs, stats.blocks[len(schema.column_parts)]))
    if schema.counted:
        sources.append((schema.counted, stats.counted))
    found = {}
    for pairs, counts in sources:
        for j, pair in enumerate(pairs):
            weight = counts.weight[:, counts.offsets[j] : counts.offsets[j + 1]]
            found[pair.columns] = {
                (label, *split_pair(name)): weight[c, k]
                for c, label in enumerate(stats.classes)
                for k, name in enumerate(counts.levels(j))
                if weight[c, k]
            }
    return found


def crosstabs(model, rows: pd.DataFrame, weight=None) -> dict[tuple, dict[tuple, float]]:
    """The same from the rows, by pandas and the edges of the schema."""
    found = {}
    for pair in model.schema_.all_pairs:
        cells = [
            rows[name].map(str, na_action="ignore")
            if edges is None
            else pd.cut(rows[name], [-np.inf, *edges, np.inf], labels=False).map(
                lambda k: f"{k:.0f}", na_action="ignore"
            )
            for name, edges in zip(pair.columns, pair.edges, strict=True)
        ]
        weights = np.ones(len(rows)) if weight is None else weight
        counts = pd.crosstab([rows["label"], cells[0]], cells[1], values=weights, aggfunc="sum").stack()
        found[pair.columns] = {
            (*at[0], at[1]) if len(at) == 2 else at: n for at, n in counts.items() if n > 0
        }
    return found


def assert_counts(model, wanted: dict[tuple, dict[tuple, float]]) -> None:
    found = pair_counts(model)
    assert found.keys() == wanted.keys()
    for pair, counts in wanted.items():
        assert found[pair] == pytest.approx(counts, abs=1e-9), pair


@pytest.mark.parametrize("interactions", ["auto", "pairs"])
@pytest.mark.parametrize("n", [200, 1500])
def test_the_model_is_the_same_as_without(interactions, n):
    rows = ROWS.head(n)
    plain = sr.NaiveBayes(interactions=interactions).fit(rows, "label")
    model = keeping(interactions=interactions).fit(rows, "label")
    assert model.interactions_ == plain.interactions_ and model.loo_score_ == plain.loo_score_
    assert [own.gain for own in model.interactions_] == [own.gain for own in plain.interactions_]
    assert np.array_equal(model.predict_proba(rows), plain.predict_proba(rows))
    assert len(model._model.parts) == len(plain._model.parts)  # nothing else is scored
    assert {frozenset(own.columns) for own in model.schema_.all_pairs} == {
        frozenset(pair) for pair in combinations(COLUMNS, 2)
    }
    assert plain.schema_.counted == () and plain.stats_.counted is None


def test_counted_pairs_are_not_shown(kept):
    plain = sr.NaiveBayes().fit(ROWS, "label")
    rows = ROWS.head(20)
    assert kept.schema_.counted and not {*kept.schema_.counted} & {*kept.interactions_}
    assert kept.explain(rows).columns == plain.explain(rows).columns
    assert kept.calibration_.weights.keys() == plain.calibration_.weights.keys()
    assert kept.to_json() == plain.to_json()
    assert f"{len(kept.schema_.counted)} more pairs of columns counted" in str(kept)
    assert str(plain).splitlines()[2:] == str(kept).splitlines()[2:]
    assert np.array_equal(kept.score_samples(rows), plain.score_samples(rows))


def test_counts_are_those_of_pandas(kept):
    assert_counts(kept, crosstabs(kept, ROWS))


@pytest.mark.parametrize("settings", [{"class_weight": "balanced"}, {"calibrate": None}, {}])
def test_weighted_counts_are_those_of_pandas(settings):
    weight = np.random.default_rng(5).integers(0, 4, len(ROWS)).astype(float)
    model = keeping(**settings).fit(ROWS, "label", sample_weight=weight)
    assert_counts(model, crosstabs(model, ROWS, weight))


def test_updates_removal_decay_and_merge_are_exact(kept):
    more = table(700, seed=1)
    all_rows = pd.concat([ROWS, more])
    wanted = crosstabs(kept, all_rows)
    streamed = copy.deepcopy(kept).partial_fit(more, "label")
    other = kept.schema_.empty_model(keeping()).partial_fit(more, "label")
    worker = sr.Accumulator(kept.schema_).update(more, "label")
    sent = sr.Accumulator.from_bytes(worker.to_bytes()).model(keeping())
    for model in (streamed, kept + other, other + kept, kept + sent):
        assert_counts(model, wanted)
    assert_counts(copy.deepcopy(streamed).forget(more, "label"), crosstabs(kept, ROWS))
    assert_counts(streamed - other, crosstabs(kept, ROWS))
    assert_counts(kept + other - other, crosstabs(kept, ROWS))
    decayed = copy.deepcopy(kept).decay(0.5).partial_fit(more, "label")
    weight = np.repeat([0.5, 1.0], [len(ROWS), len(more)])
    assert_counts(decayed, crosstabs(kept, all_rows, weight))
    assert_counts(decayed.forget(ROWS, "label", since=1.0), crosstabs(kept, more))


def test_streams_keep_pairs():
    streamed = keeping()
    for first in range(0, len(ROWS), 250):
        streamed.partial_fit(ROWS.iloc[first : first + 250], "label")
    assert streamed.schema_.counted
    assert_counts(streamed, crosstabs(streamed, ROWS))


def test_files_keep_pairs(tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    model = keeping().fit(tmp_path / "rows.csv", "label")
    assert_counts(model, crosstabs(model, ROWS))


def test_lazy_tables_keep_pairs():
    duckdb = pytest.importorskip("duckdb")
    rows = pd.concat([ROWS] * 30, ignore_index=True)  # more than the sample that decides
    model = keeping().fit(duckdb.from_df(rows), "label")
    assert model.schema_.counted
    assert_counts(model, crosstabs(model, rows))


def test_many_pairs_are_counted_in_pieces(kept, monkeypatch):
    monkeypatch.setattr("sunrise.model.accumulate.MOST_CODES", 2 * len(ROWS))
    assert_counts(kept.schema_.empty_model(keeping()).partial_fit(ROWS, "label"), crosstabs(kept, ROWS))


@pytest.mark.parametrize("interactions", ["auto", "pairs"])
def test_merged_shards_choose_what_one_fit_chooses(interactions):
    whole = keeping(interactions=interactions).fit(ROWS, "label")
    parts = ROWS.iloc[:400], ROWS.iloc[400:]
    empty = [whole.schema_.empty_model(keeping(interactions=interactions)) for _ in parts]
    one, two = (model.partial_fit(rows, "label") for model, rows in zip(empty, parts, strict=True))
    merged = (one + two).recalibrate(ROWS, "label")
    assert merged.interactions_ == whole.interactions_
    assert {*merged.schema_.counted} == {*whole.schema_.counted}
    assert merged.predict_proba(ROWS) == pytest.approx(whole.predict_proba(ROWS), abs=1e-6)
    assert_counts(merged, crosstabs(whole, ROWS))


def test_merged_models_with_a_block_of_numbers_keep_it():
    rng = np.random.default_rng(3)
    n = 900
    y = rng.choice(["u", "v"], n)
    x = rng.normal(size=(n, 3))
    x[:, 1] += np.where(y == "u", 1.0, -1.0) * x[:, 0]
    rows = pd.DataFrame(x, columns=["f", "g", "h"]).assign(c=rng.choice(list("rst"), n), label=y)
    whole = keeping().fit(rows, "label")
    assert whole.schema_.correlated is not None and whole.schema_.counted
    one, two = (
        whole.schema_.empty_model(keeping()).partial_fit(part, "label")
        for part in (rows.head(300), rows.tail(600))
    )
    merged = (one + two).recalibrate(rows, "label")
    assert merged.interactions_ == whole.interactions_
    assert merged.predict_proba(rows) == pytest.approx(whole.predict_proba(rows), abs=1e-6)


def test_a_pair_that_only_all_rows_justify_is_chosen_again():
    rows = table(4000, seed=2, weak=0.12)
    parts = np.array_split(np.arange(len(rows)), 12)
    first = keeping().fit(rows.iloc[parts[0]], "label")
    assert {"a", "n"} not in [{*own.columns} for own in first.interactions_]
    shards = [first.schema_.empty_model(keeping()).partial_fit(rows.iloc[p], "label") for p in parts[1:]]
    merged = first + sum(shards)
    assert merged.interactions_ == first.interactions_
    with pytest.warns(sr.StaleCalibrationWarning):
        before = log_loss(rows["label"], merged.predict_proba(rows))
    merged.recalibrate(rows, "label")
    assert {"a", "n"} in [{*own.columns} for own in merged.interactions_]
    assert log_loss(rows["label"], merged.predict_proba(rows)) < before
    pairs = {own.name for own in merged.interactions_}
    assert all(merged.calibration_.weights[name] > 0 for name in pairs)


def test_pairs_are_judged_by_the_counts_of_the_model_without_the_row(kept, monkeypatch):
    """The lifts of the search on some rows are those of refits of the whole model without each row."""
    from sunrise.selection import pairs as search

    lifts = []
    plain = search.PairSearch._lifts

    def noted(self, some):
        lifts.append((self, some, plain(self, some)))
        return lifts[-1][2]

    monkeypatch.setattr(search.PairSearch, "_lifts", noted)
    model = copy.deepcopy(kept).recalibrate(ROWS.head(300), "label")
    assert model.interactions_
    own, some, found = next(noted for noted in lifts if noted[0].counted is not None)
    names = [{COLUMNS[j] for j in pair} for pair in some]
    at = names.index({"a", "b"})
    given = [pair for pair in kept.schema_.all_pairs if {*pair.columns} == {"a", "b"}]
    for k in range(0, 40):
        i = int(own.rows.judges[k])
        refit = sr.NaiveBayes(kept.fixed_families_, interactions=given, calibrate=None)
        refit.fit(ROWS.drop(index=i), "label")
        wanted = refit.explain(ROWS.loc[[i]]).contributions[0, :, -1]
        assert found[k, 0, at] == pytest.approx(wanted[1] - wanted[0], abs=1e-9)


def test_pairs_that_lose_their_gain_stay_counted(kept):
    rng = np.random.default_rng(9)
    noise = table(6000, seed=8).assign(label=rng.choice(["yes", "no"], 6000))
    model = copy.deepcopy(kept).partial_fit(noise, "label").forget(ROWS, "label")
    model.recalibrate(noise, "label")
    assert {"a", "b"} not in [{*own.columns} for own in model.interactions_]
    assert {*model.schema_.all_pairs} == {*kept.schema_.all_pairs}
    assert_counts(model, crosstabs(kept, noise))


def test_levels_that_the_given_rows_lack_and_new_ones(kept):
    more = table(500, seed=4).replace({"a": {"z": "new"}})
    model = copy.deepcopy(kept).partial_fit(more, "label")
    model.recalibrate(more, "label")
    assert_counts(model, crosstabs(kept, pd.concat([ROWS, more])))
    assert np.isfinite(model.predict_log_proba(ROWS)).all()


def test_merging_with_a_model_that_keeps_fewer_pairs(kept):
    settings = {"families": kept.fixed_families_, "calibrate": None}
    both = list(kept.interactions_)
    few = sr.NaiveBayes(interactions=both, **settings).fit(ROWS, "label")
    merged = kept + few
    assert merged.interactions_ == kept.interactions_ and merged.schema_.counted == ()
    one = kept.schema_.counted[0]
    other = sr.NaiveBayes(interactions=[*both, one], **settings).fit(ROWS, "label")
    merged = kept + other  # the left model decides which pairs are scored
    assert merged.interactions_ == kept.interactions_ and merged.schema_.counted == (one,)
    assert other.merge(kept).interactions_ == (*both, one)


@pytest.mark.parametrize("way", ["save", "pickle", "copy", "deepcopy"])
def test_files_and_copies_keep_the_counts(kept, way, tmp_path):
    if way == "save":
        kept.save(tmp_path / "m.sunrise")
        other = sr.load(tmp_path / "m.sunrise")
    else:
        ways = {
            "pickle": lambda m: pickle.loads(pickle.dumps(m)),
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
        }
        other = ways[way](kept)
    assert other.keep_pairs == "all" and other.schema_ == kept.schema_
    assert_counts(other, pair_counts(kept))
    assert np.array_equal(other.predict_proba(ROWS), kept.predict_proba(ROWS))
    again, wanted = (copy.deepcopy(m).recalibrate(ROWS, "label") for m in (other, kept))
    assert again.interactions_ == wanted.interactions_
    assert np.array_equal(again.predict_proba(ROWS), wanted.predict_proba(ROWS))


def test_damaged_counts_are_refused(kept, tmp_path):
    from dataclasses import replace

    broken = copy.deepcopy(kept)
    broken.stats_ = replace(kept.stats_, counted=None)
    broken.save(tmp_path / "m.sunrise")
    with pytest.raises(sr.ModelFileError, match="do not fit"):
        sr.load(tmp_path / "m.sunrise")


def test_selection_suppression_and_pruning_know_counted_pairs(kept):
    fewer = kept.select(3)
    used = {name for name, family in fewer.fixed_families_.items() if family is not None}
    assert {own.columns for own in fewer.schema_.all_pairs} == {
        own.columns for own in kept.schema_.all_pairs if used.issuperset(own.columns)
    }
    suppressed = copy.deepcopy(kept).suppress(40)
    for pair, counts in pair_counts(suppressed).items():
        rows = pd.Series(counts).groupby(level=[1, 2]).sum()
        assert (rows >= 40).all(), pair
    pruned = copy.deepcopy(kept).decay(0.5, prune=20.0)
    assert all(
        pd.Series(own).groupby(level=[1, 2]).sum().ge(20).all() for own in pair_counts(pruned).values()
    )


def test_matrices_keep_pairs_and_can_be_selected():
    x = ROWS[["size", "weight"]].fillna(0).to_numpy()
    model = keeping(interactions="pairs").fit(x, ROWS["label"])
    assert len(model.schema_.all_pairs) == 1
    assert model.select(1).schema_.all_pairs == ()
    assert max(own["bits"] for own in sr.compare(model, model).values()) == pytest.approx(0.0, abs=1e-12)


def test_wide_tables_keep_the_pairs_that_the_search_considers(monkeypatch):
    monkeypatch.setattr("sunrise.selection.pairs.MOST_COLUMNS", 3)
    plain, model = sr.NaiveBayes().fit(ROWS, "label"), keeping().fit(ROWS, "label")
    assert len(model.schema_.all_pairs) == 3
    assert {*plain.interactions_} <= {*model.schema_.all_pairs, model.schema_.correlated}
    assert np.array_equal(model.predict_proba(ROWS), plain.predict_proba(ROWS))
    assert len(keeping(calibrate=None).fit(ROWS, "label").schema_.counted) == 3


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"keep_pairs": "some"},
            "'keep_pairs' parameter of NaiveBayes must be .*'all'.* or None. Got 'some'",
        ),
        (
            {"keep_pairs": "all", "interactions": None},
            'interactions=None searches none. Set interactions to "auto"',
        ),
        ({"keep_pairs": "all", "interactions": [("a", "b")]}, r"interactions=\[\('a', 'b'\)\] searches none"),
    ],
)
def test_bad_settings_are_refused(settings, text):
    with pytest.raises(ValueError, match=text):
        sr.NaiveBayes(**settings).fit(ROWS, "label")


def test_rows_without_a_label_are_refused():
    rows = ROWS.assign(label=ROWS["label"].where(ROWS.index > 100, None))
    with pytest.raises(ValueError, match="keep_pairs is 'all', and pairs of columns cannot be counted"):
        keeping(unlabelled="em").fit(rows, "label")
