"""Number of threads for a computation."""

from __future__ import annotations

import os

#: Below this number of cells, one thread is faster than two.
SMALL = 1 << 16


def threads(n_jobs: int | None, cells: int) -> int:
    """Number of threads: n_jobs, else SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores; 1 for few cells."""
    if cells < SMALL:
        return 1
    if n_jobs is not None:
        return n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)
    for name in ("SUNRISE_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return _cores()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
