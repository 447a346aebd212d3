"""The table of the tests of this folder."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def table():
    """Columns of several kinds with missing cells, one of them far from 0, and a text."""
    import pyarrow as pa

    rng = np.random.default_rng(5)
    n = 9_000
    y = rng.integers(0, 3, n)
    words = np.array(["sun moon", "rain wind sun", "snow ice wind rain", ""])

    def with_gaps(values, every):
        return pa.array(values, mask=np.arange(n) % every == 0)

    return pa.table(
        {
            "far": with_gaps(1e9 + rng.normal(y, 1.0), 7),
            "amount": with_gaps(rng.gamma(2.0 + y), 11),
            "visits": with_gaps(rng.poisson(2.0 + y), 13),
            "member": with_gaps(rng.random(n) < 0.2 + 0.2 * y, 5),
            "colour": with_gaps(np.array(["red", "green", "blue"])[(y + rng.integers(0, 2, n)) % 3], 9),
            "note": with_gaps(words[(y + rng.integers(0, 2, n)) % 4], 17),
            "weight": pa.array(rng.integers(0, 4, n).astype(float)),
            "label": pa.array(np.array(["low", "mid", "top"])[y]),
        }
    )
