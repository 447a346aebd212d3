"""Quality of predictions: scikit-learn's metrics and brute force are the truth."""

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix, log_loss
from sunrise.datasets import load_heart_disease, load_house_votes
from sunrise.inference.quality import Quality

RNG = np.random.default_rng(3)


def random_predictions(n=400, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n_classes), size=n)
    y = np.array([rng.choice(n_classes, p=row) for row in p])
    return p, y, rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("n_classes", [2, 4, 30])
def test_scores_are_those_of_scikit_learn(n_classes):
    p, y, w = random_predictions(n_classes=n_classes)
    classes = np.arange(n_classes)
    quality = Quality.of(np.log(p), y, w, classes)
    predicted = p.argmax(axis=1)
    assert quality.accuracy == pytest.approx(accuracy_score(y, predicted, sample_weight=w))
    assert quality.log_loss == pytest.approx(log_loss(y, p, sample_weight=w, labels=classes))
    truth = confusion_matrix(y, predicted, sample_weight=w, labels=classes)
    np.testing.assert_allclose(quality.confusion, truth)
    if n_classes == 2:
        assert quality.brier == pytest.approx(brier_score_loss(y, p[:, 1], sample_weight=w))
    else:
        squares = ((p - np.eye(n_classes)[y]) ** 2).sum(axis=1)
        assert quality.brier == pytest.approx(np.average(squares, weights=w))


def test_thresholds_count_rows_at_or_above_them():
    p, y, w = random_predictions(n_classes=3)
    found = Quality.of(np.log(p), y, w, np.array(list("abc"))).thresholds("b")
    for t, true, false in zip(found.threshold, found.true_positives, found.false_positives, strict=True):
        above = (p[:, 1] >= t) if t < 1 else np.zeros(len(p), bool)
        assert true == pytest.approx(w[above & (y == 1)].sum(), abs=1e-9)
        assert false == pytest.approx(w[above & (y != 1)].sum(), abs=1e-9)
    assert found.positives == pytest.approx(w[y == 1].sum())
    assert found.negatives == pytest.approx(w[y != 1].sum())


def test_reliability_groups_rows_by_their_probability():
    p = np.repeat([0.05, 0.25, 0.65, 0.95], 100)
    y = (np.arange(400) % 100 < np.repeat([5, 40, 65, 90], 100)).astype(int)
    log_p = np.log(np.column_stack([1 - p, p]))
    groups = Quality.of(log_p, y, np.ones(400), np.array([0, 1])).reliability(groups=4)
    np.testing.assert_allclose(groups.predicted, [0.05, 0.25, 0.65, 0.95])
    np.testing.assert_allclose(groups.observed, [0.05, 0.40, 0.65, 0.90])
    np.testing.assert_allclose(groups.weight, 100.0)


def test_the_calibration_error_is_small_for_true_probabilities_and_large_for_extreme_ones():
    p, y, _ = random_predictions(n=20_000, n_classes=3)
    extreme = p**4 / (p**4).sum(axis=1, keepdims=True)
    errors = [Quality.of(np.log(q), y, np.ones(len(y)), np.arange(3)).calibration_error for q in (p, extreme)]
    assert errors[0] < 0.01 < 0.1 < errors[1]


def test_pooled_classes_of_a_many_class_model():
    p, y, w = random_predictions(n_classes=5)
    groups = Quality.of(np.log(p), y, w, np.arange(5)).reliability(groups=1)
    assert groups.observed[0] == pytest.approx(0.2) and groups.predicted[0] == pytest.approx(0.2)


def test_qualities_of_batches_add_up():
    p, y, w = random_predictions()
    classes = np.arange(4)
    whole = Quality.of(np.log(p), y, w, classes)
    parts = [Quality.of(np.log(p[s]), y[s], w[s], classes) for s in (slice(0, 150), slice(150, None))]
    total = parts[0] + parts[1]
    assert total.rows == whole.rows and total.log_loss == pytest.approx(whole.log_loss)
    np.testing.assert_allclose(total.confusion, whole.confusion)
    np.testing.assert_allclose(total.probability, whole.probability)


def test_the_quality_of_a_fit_belongs_to_its_score():
    heart = load_heart_disease("pandas").frame
    model = sr.NaiveBayes().fit(heart, "disease")
    quality, score = model.quality_, model.loo_score_
    assert quality.accuracy == pytest.approx(score.accuracy) and quality.log_loss == pytest.approx(
        score.log_loss
    )
    assert quality.rows == score.rows and quality.method == score.method
    assert quality.confusion.sum(axis=1).tolist() == [164, 139]
    assert "quality" not in repr(score)


def test_updates_leave_no_quality_and_files_keep_it(tmp_path):
    heart = load_heart_disease("pandas").frame
    model = sr.NaiveBayes().fit(heart, "disease")
    path = tmp_path / "heart.sunrise"
    model.save(path)
    assert sr.load(path).quality_ == model.quality_
    assert sr.load(path).quality_.thresholds("yes").positives == 139
    model.partial_fit(heart.head(20), "disease")
    assert model.quality_ is None
    assert sr.NaiveBayes(calibrate=None, families="auto-fast").fit(heart, "disease").quality_ is None
    with pytest.raises(AttributeError, match="before it is fitted"):
        _ = sr.NaiveBayes().quality_


def test_suppress_leaves_no_counts_of_few_rows():
    heart = load_heart_disease("pandas").frame
    model = sr.NaiveBayes().fit(heart, "disease").suppress(min_rows=5)
    assert model.quality_ is None


def test_evaluate_equals_score_on_every_kind_of_rows(tmp_path):
    votes = load_house_votes("pandas").frame
    model = sr.NaiveBayes().fit(votes.head(300), "party")
    new, weight = votes.tail(135), RNG.uniform(0.5, 2.0, 135)
    quality = model.evaluate(new, "party", weight)
    assert quality.accuracy == pytest.approx(model.score(new, "party", weight))
    p = model.predict_proba(new.drop(columns="party"))
    assert quality.log_loss == pytest.approx(log_loss(new["party"], p, sample_weight=weight))
    new.to_parquet(tmp_path / "votes.parquet")
    of_file = model.evaluate(str(tmp_path / "votes.parquet"), "party")
    assert of_file == model.evaluate(new.drop(columns="party"), new["party"].to_numpy())


def test_unknown_labels_count_as_wrong_and_in_no_other_number():
    model = sr.NaiveBayes("auto-fast").fit({"x": [0.0, 1.0, 5.0, 6.0]}, list("aabb"))
    rows = pd.DataFrame({"x": [0.5, 5.5, 5.0]})
    quality = model.evaluate(rows, ["a", "b", "c"])
    assert quality.accuracy == pytest.approx(2 / 3) == model.score(rows, ["a", "b", "c"])
    assert quality.unknown == 1 and quality.total == 2 and np.isfinite(quality.log_loss)


def test_the_class_must_be_named_if_there_are_more_than_two():
    p, y, w = random_predictions(n_classes=3)
    quality = Quality.of(np.log(p), y, w, np.arange(3))
    with pytest.raises(ValueError, match="3 classes. Pass the class"):
        quality.thresholds()
    with pytest.raises(ValueError, match="7 is not one of the classes"):
        quality.reliability(7)
