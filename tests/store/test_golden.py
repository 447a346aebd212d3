"""Model files of every version of the format are read, and their models predict what they predicted."""

from __future__ import annotations

import json

import golden
import model_zoo
import numpy as np
import pytest
import sunrise as sr
from sunrise.store.state import VERSION

pytestmark = pytest.mark.filterwarnings("ignore")

EXPECTED = {
    (path.parent.name, name): own
    for path in sorted(golden.FOLDER.glob("*/expected.json"))
    for name, own in json.loads(path.read_text()).items()
}


@pytest.mark.parametrize("version, name", EXPECTED)
def test_a_golden_file_predicts_as_it_did(version, name):
    own = EXPECTED[version, name]
    model = sr.load(golden.FOLDER / version / f"{name}.sunrise")
    found = model.predict_proba(golden.as_rows(own["rows"]))
    np.testing.assert_allclose(found, own["probabilities"], rtol=1e-9, atol=1e-12)
    assert sr.inspect(golden.FOLDER / version / f"{name}.sunrise").estimator == type(model).__name__


def test_there_is_a_golden_file_of_every_kind_of_model():
    assert {name for version, name in EXPECTED if version == str(VERSION)} == set(model_zoo.one_of_each())
