"""How many threads a piece of work gets."""

from __future__ import annotations

import os

#: Cells below which one thread is faster than starting a second.
SMALL = 1 << 16


def threads(n_jobs: int | None, cells: int) -> int:
    """Threads for this much work: n_jobs, else SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores."""
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
