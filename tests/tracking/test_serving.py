"""The application of docs/serving.md: with FastAPI where it is installed, and always with a stand-in for it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
import sunrise as sr

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text()
(APP,) = re.findall(r"```py\n(.*?)```", PAGE, flags=re.DOTALL)
RECORD = {"age": 61, "chest_pain": "asymptomatic"}


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heart = sr.datasets.load_heart_disease("pandas").frame
    return sr.NaiveBayes().fit(heart, "disease").save("heart.sunrise")


class Refused(Exception):
    def __init__(self, status_code, detail):
        super().__init__(detail)
        self.status_code = status_code


class Routes:
    def __init__(self, title):
        self.routes = {}

    def post(self, path):
        return lambda handler: self.routes.setdefault(path, handler)

    get = post


def check(post, get, refusal):
    """Check the three routes; `refusal` returns status and text of a refused record."""
    model = sr.load("heart.sunrise")
    complete = dict.fromkeys(model.feature_names_in_) | RECORD
    p = model.predict_proba(complete)[0]
    answer = post("/predict", RECORD)
    assert answer["class"] == model.classes_[p.argmax()] and answer["probabilities"]["yes"] == p[1]
    points = post("/explain", RECORD)
    assert points["yes"]["age"] == model.explain(complete).contributions[0, 1, 0]
    assert get("/columns") == model.feature_names_in_.tolist()
    status, text = refusal("/predict", {**RECORD, "hight": 1.8})
    assert status == 422 and "'hight'" in text


def test_the_application_of_the_page_runs(saved, monkeypatch):
    stand_in = types.ModuleType("fastapi")
    stand_in.FastAPI, stand_in.HTTPException = Routes, Refused
    monkeypatch.setitem(sys.modules, "fastapi", stand_in)
    space = {}
    exec(compile(APP, "app.py", "exec"), space)
    routes = space["app"].routes

    def refusal(path, record):
        with pytest.raises(Refused) as error:
            routes[path](record)
        return error.value.status_code, str(error.value)

    check(lambda path, record: routes[path](record), lambda path: routes[path](), refusal)


SCRIPT = """
import json, sys
from fastapi.testclient import TestClient
from app import app
client = TestClient(app)
for line in sys.stdin:
    method, path, *record = json.loads(line)
    answer = getattr(client, method)(path, **({"json": record[0]} if record else {}))
    print(json.dumps([answer.status_code, answer.json()]), flush=True)
"""


@pytest.mark.slow
def test_the_application_of_the_page_runs_in_fastapi(saved, tmp_path):
    python = sys.executable
    if not all(importlib.util.find_spec(name) for name in ("fastapi", "httpx")):
        subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "environment")], check=True)
        python = str(tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python")
        install = [python, "-m", "pip", "install", "--quiet", "fastapi", "httpx", "scikit-learn", "narwhals"]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"FastAPI cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
    (tmp_path / "app.py").write_text(APP)
    environment = {**os.environ, "PYTHONPATH": str(Path(sr.__file__).resolve().parents[1])}
    command = [python, "-W", "ignore", "-c", SCRIPT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ) as server:

        def ask(*request):
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        def refusal(path, record):
            status, answer = ask("post", path, record)
            return status, answer["detail"]

        check(lambda *request: ask("post", *request)[1], lambda path: ask("get", path)[1], refusal)
        server.stdin.close()
