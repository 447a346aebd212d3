"""Fixtures of the estimator tests: a real table and a model of it."""

from __future__ import annotations

import pytest
from plain import NaiveBayes
from sunrise.datasets import load_heart_disease


@pytest.fixture(scope="module")
def heart():
    return load_heart_disease("pandas").frame


@pytest.fixture(scope="module")
def model(heart):
    return NaiveBayes().fit(heart, "disease")
