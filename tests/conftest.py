"""What tests share: the folders of data, the share of long tests, and the settings of hypothesis."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from spark_session import open_session
from sunrise.selection import duplicates

settings.register_profile("sunrise", deadline=None, max_examples=40, derandomize=True, print_blob=True)
settings.load_profile("sunrise")

HERE = Path(__file__).resolve().parent
#: Where data files are looked for: those of the repository, then the larger ones, which docs/data.md lists.
FOLDERS = [HERE / "data", Path(os.environ.get("SUNRISE_DATA") or HERE.parents[1] / "shared" / "data")]


@pytest.fixture(scope="session")
def find_data() -> Callable[[str], Path]:
    """Return a function that gives the path of a data file, or skips the test where the file is absent."""

    def find(name: str) -> Path:
        for folder in FOLDERS:
            if (folder / name).is_file():
                return folder / name
        pytest.skip(f"{name} is not in {FOLDERS[-1]}: set SUNRISE_DATA, see docs/data.md")

    return find


@pytest.fixture(scope="session")
def scaled() -> Callable[[int], int]:
    """Return a function that gives the number of random cases of a long test: the share SUNRISE_LONG of all."""
    share = float(os.environ.get("SUNRISE_LONG") or 0.01)
    return lambda cases: max(1, round(share * cases))


@pytest.fixture(scope="session")
def spark():
    """A local Spark session, or a skip where Spark or Java is absent."""
    session = open_session()
    yield session
    session.stop()


_STATES: dict[str, dict] = {}


@pytest.fixture(autouse=True)
def _warnings_are_given_again():
    """Pairs of duplicate columns are reported once in a process; here once in a test."""
    duplicates._REPORTED.clear()


@pytest.fixture(autouse=True)
def _the_same_numbers_in_any_order(request):
    """A module's RNG starts every test from one state, so that results do not depend on which tests ran before."""
    rng = getattr(request.module, "RNG", None)
    if rng is not None:
        state = _STATES.setdefault(request.module.__name__, rng.bit_generator.state)
        rng.bit_generator.state = state
