"""MLflow in an environment of its own: the newest version that installs, beside this package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import sunrise as sr
from sunrise.estimators.base import ESTIMATORS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mlflow.md").read_text()
PACKAGE = Path(sr.__file__).resolve().parents[1]
SETUP = """
import sys, mlflow
mlflow.set_tracking_uri(f"sqlite:///{sys.argv[1]}/runs.db")
experiment = mlflow.create_experiment("tests", artifact_location=f"file://{sys.argv[1]}/artifacts")
mlflow.set_experiment(experiment_id=experiment)
"""
#: Runs after the code of docs/mlflow.md, which has logged a model, a fit and a pipeline.
CHECKS = """
import numpy as np
model = sr.NaiveBayes().fit(X, y)
p = model.predict_proba(X)

def runs():
    return len(mlflow.search_runs([experiment]))

np.testing.assert_array_equal(same.predict_proba(X), p)
same.partial_fit(X, y)
assert list(served.predict(X)) == list(model.predict(X))
np.testing.assert_allclose(mlflow.sklearn.load_model(info.model_uri).predict_proba(X), p)
assert runs() == 3
with mlflow.start_run():
    info = sr.mlflow.log_model(model, pyfunc_predict_fn="predict_proba", input_example=X.head(3))
np.testing.assert_array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(X), p)
sr.mlflow.autolog(log_models=False)
sr.NaiveBayes(unseen="ignore").fit(heart, "disease")
run = mlflow.last_active_run()
assert run.data.params["unseen"] == "ignore" and run.data.tags["estimator_name"] == "NaiveBayes"
assert run.data.metrics["accuracy"] == model.loo_score_.accuracy and run.data.metrics["rows"] == 303
assert run.data.metrics["log_loss"] < run.data.metrics["prior_log_loss"]
families = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/families.json")
assert families["sex"]["family"] == "categorical"
with mlflow.start_run() as own:
    sr.GaussianNB().fit(X[["age"]], y)
assert mlflow.get_run(own.info.run_id).data.tags["estimator_name"] == "GaussianNB"
assert runs() == 6
sr.mlflow.autolog(disable=True)
sr.NaiveBayes().fit(heart, "disease")
assert runs() == 6
print("checked")
"""


def test_without_mlflow_one_line_says_so(tmp_path):
    try:
        metadata.version("mlflow")
    except metadata.PackageNotFoundError:
        with pytest.raises(ImportError, match="install the package mlflow"):
            sr.mlflow.autolog()
    assert "sunrise.estimators.naive_bayes.NaiveBayes" in sr.mlflow.TRUSTED_TYPES
    assert len(sr.mlflow.TRUSTED_TYPES) <= len(ESTIMATORS)


@pytest.mark.slow
def test_models_are_logged_loaded_and_served(tmp_path):
    python = tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "environment")], check=True)
    # Dependencies of this package beside those of MLflow.
    packages = ["mlflow", "skops", "narwhals", "scikit-learn", "pandas"]
    install = [str(python), "-m", "pip", "install", "--quiet", *packages]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"MLflow cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "MLFLOW_DISABLE_TELEMETRY": "true"}
    code = [SETUP, *re.findall(r"```py\n(.*?)```", PAGE, flags=re.DOTALL), CHECKS]
    assert len(code) == 6
    script = [str(python), "-W", "ignore", "-c", "\n".join(code), str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("checked\n")
