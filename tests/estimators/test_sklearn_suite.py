"""scikit-learn's own tests of its naive Bayes classes, run with ours in their place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import sklearn

PRIVATE = "tests a private helper of scikit-learn's classes"
EXPECTED_FAILURES = {
    "test_gnb_check_update_with_no_data": PRIVATE,
    "test_alpha_vector": PRIVATE,
    "test_check_alpha": PRIVATE,
    **{
        f"test_NB_partial_fit_no_first_classes[42-{name}]": "classes need not be announced here"
        for name in ("BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB", "GaussianNB")
    },
    **{
        f"test_discretenb_provide_prior[{name}]": "relies on a failed fit having changed the estimator"
        for name in ("BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB")
    },
    "test_discretenb_provide_prior_with_partial_fit[CategoricalNB]": "feeds fractions as category codes",
}


def test_scikit_learns_own_tests_pass(tmp_path):
    source = (Path(sklearn.__file__).parent / "tests" / "test_naive_bayes.py").read_text()
    swapped = source.replace("from sklearn.naive_bayes import (", "from sunrise import (")
    assert swapped != source
    (tmp_path / "test_swapped.py").write_text(swapped)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "sklearn.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--junitxml=result.xml", "-c", "/dev/null", "--rootdir=.", "test_swapped.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    cases = list(ElementTree.parse(tmp_path / "result.xml").iter("testcase"))
    failed = {
        case.get("name")
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }
    assert failed == set(EXPECTED_FAILURES), done.stdout[-3000:]
    passed = [case for case in cases if len(case) == 0]
    assert len(passed) >= 73
