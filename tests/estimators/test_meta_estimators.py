"""Meta-estimators of scikit-learn: docs/scikit-learn.md says which take whole tables and which refuse strings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import sunrise as sr
from sklearn import (
    calibration,
    ensemble,
    feature_selection,
    model_selection,
    multiclass,
    multioutput,
    pipeline,
)
from sklearn.inspection import permutation_importance
from sklearn.semi_supervised import SelfTrainingClassifier
from sunrise.datasets import load_heart_disease

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scikit-learn.md").read_text()
ROWS = re.findall(r"^\| (.*) \| (.*?) ?\|$", PAGE[PAGE.index("| takes whole tables") :], flags=re.MULTILINE)[
    1:
]
TAKES, REFUSES = ([name for row in ROWS for name in re.findall(r"`(\w+)`", row[side])] for side in (0, 1))


def plain():
    return sr.NaiveBayes("auto-fast", calibrate=None)


def two():
    return [("a", plain()), ("b", sr.NaiveBayes("auto-fast", calibrate=None, estimate="map"))]


def fit(estimator):
    return lambda X, y: estimator.fit(X, y).predict(X)


def fit_two(estimator):
    return lambda X, y: estimator.fit(X, np.column_stack([y, 1 - y])).predict(X)


USES = {
    "Pipeline": fit(pipeline.make_pipeline(plain())),
    "GridSearchCV": fit(model_selection.GridSearchCV(plain(), {"estimate": ["mean", "map"]}, cv=2)),
    "cross_val_score": lambda X, y: model_selection.cross_val_score(plain(), X, y, cv=2),
    "learning_curve": lambda X, y: model_selection.learning_curve(plain(), X, y, cv=2),
    "CalibratedClassifierCV": fit(calibration.CalibratedClassifierCV(plain(), cv=2)),
    "TunedThresholdClassifierCV": fit(model_selection.TunedThresholdClassifierCV(plain(), cv=2)),
    "FixedThresholdClassifier": fit(model_selection.FixedThresholdClassifier(plain())),
    "BaggingClassifier": fit(ensemble.BaggingClassifier(plain(), n_estimators=2)),
    "VotingClassifier": fit(ensemble.VotingClassifier(two(), voting="soft")),
    "StackingClassifier": fit(ensemble.StackingClassifier(two(), cv=2)),
    "OneVsRestClassifier": fit(multiclass.OneVsRestClassifier(plain())),
    "OutputCodeClassifier": fit(multiclass.OutputCodeClassifier(plain())),
    "MultiOutputClassifier": fit_two(multioutput.MultiOutputClassifier(plain())),
    "SelectFromModel": lambda X, y: feature_selection.SelectFromModel(plain()).fit(X, y).transform(X),
    "permutation_importance": lambda X, y: permutation_importance(plain().fit(X, y), X, y, n_repeats=1),
    "AdaBoostClassifier": fit(ensemble.AdaBoostClassifier(plain(), n_estimators=2)),
    "OneVsOneClassifier": fit(multiclass.OneVsOneClassifier(plain())),
    "ClassifierChain": fit_two(multioutput.ClassifierChain(plain())),
    "SelfTrainingClassifier": fit(SelfTrainingClassifier(plain())),
    "RFE": fit(feature_selection.RFE(plain(), n_features_to_select=2)),
    "RFECV": fit(feature_selection.RFECV(plain(), cv=2)),
    "SequentialFeatureSelector": lambda X, y: feature_selection.SequentialFeatureSelector(
        plain(), n_features_to_select=2, cv=2
    ).fit(X, y),
}


@pytest.fixture(scope="module")
def heart():
    table = load_heart_disease("pandas").frame.dropna()
    return table.drop(columns="disease"), (table["disease"] == "yes").to_numpy().astype(int)


def test_the_page_names_the_meta_estimators_that_are_tested_here():
    assert set(TAKES) | set(REFUSES) == set(USES)
    assert "SelectFromModel" in TAKES and "RFE" in REFUSES


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TAKES)
def test_these_take_columns_of_strings(name, heart):
    USES[name](*heart)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSES)
def test_these_refuse_strings_and_take_numbers(name, heart):
    X, y = heart
    with pytest.raises(ValueError, match="could not convert string to float"):
        USES[name](X, y)
    USES[name](X[["age", "max_heart_rate", "st_depression"]], y)
