"""Number of threads for a computation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from typing import TypeVar

Task = TypeVar("Task")
Done = TypeVar("Done")

#: Below this number of cells, one thread is faster than two. A thread more needs at least the second number of cells,
#: because starting it takes as long as computing with about a third of them.
SMALL, PER_THREAD = 1 << 16, 1 << 15


#: n_jobs of the model that computes at present.
_N_JOBS: ContextVar[int | None] = ContextVar("n_jobs", default=None)


class limited_to:
    """Within this context, computations that do not know their model use its n_jobs."""

    __slots__ = ("_n_jobs", "_token")

    def __init__(self, n_jobs: int | None) -> None:
        self._n_jobs = n_jobs

    def __enter__(self) -> None:
        self._token = _N_JOBS.set(self._n_jobs)

    def __exit__(self, *error: object) -> None:
        _N_JOBS.reset(self._token)


def threads(n_jobs: int | None, cells: int | None = None) -> int:
    """Return the number of threads for a computation: fewer than are allowed if there are few cells.

    `cells` is None if the amount of work is unknown. n_jobs sets the number that is allowed; if it is None, n_jobs of
    the context does, else SUNRISE_THREADS, else OMP_NUM_THREADS, else the number of cores.
    """
    if cells is None:
        return _allowed(n_jobs)
    return 1 if cells < SMALL else max(1, min(_allowed(n_jobs), cells // PER_THREAD))


def _allowed(n_jobs: int | None) -> int:
    n_jobs = _N_JOBS.get() if n_jobs is None else n_jobs
    if n_jobs is not None:
        return n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)
    for name in ("SUNRISE_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return _cores()


def spread(work: Callable[[Task], Done], tasks: Iterable[Task], n_threads: int) -> list[Done]:
    """Return the results of a function for some tasks, in their order, computed by so many threads.

    Worth it where the function calls NumPy for large arrays, which other threads need not wait for.
    """
    if n_threads <= 1:
        return [work(task) for task in tasks]
    from concurrent.futures import ThreadPoolExecutor  # importing it takes time

    with ThreadPoolExecutor(n_threads) as pool:
        # Settings of the context, n_jobs and those of NumPy, hold in every thread.
        return [done.result() for done in [pool.submit(copy_context().run, work, task) for task in tasks]]


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
