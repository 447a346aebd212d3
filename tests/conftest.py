"""What tests share: the folder of reference data beside the checkout, and hypothesis' pace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("sunrise", deadline=None, max_examples=40, derandomize=True, print_blob=True)
settings.load_profile("sunrise")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data sets; it is not part of the project, so it may be absent."""
    if not SHARED.is_dir():
        pytest.skip("the folder of reference data, ../shared, is not beside this checkout")
    return SHARED


_STATES: dict[str, dict] = {}


@pytest.fixture(autouse=True)
def _the_same_numbers_in_any_order(request):
    """A module's RNG starts every test from one state, so that results do not depend on which tests ran before."""
    rng = getattr(request.module, "RNG", None)
    if rng is not None:
        state = _STATES.setdefault(request.module.__name__, rng.bit_generator.state)
        rng.bit_generator.state = state
