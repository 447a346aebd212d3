"""Helpers of the benchmarks: time alternating calls, format times and print lines of tables."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any


def seconds(run: Callable[[], Any], repeat: int = 1) -> float:
    """Return the mean time of one call over `repeat` calls."""
    start = perf_counter()
    for _ in range(repeat):
        run()
    return (perf_counter() - start) / repeat


def interleaved(*runs: Callable[[], Any], rounds: int, repeat: int = 1) -> tuple[float, ...]:
    """Return the minimum time of each call; every round runs all calls in turn."""
    times = [[seconds(run, repeat) for run in runs] for _ in range(rounds)]
    return tuple(min(side) for side in zip(*times, strict=True))


def shown(time: float) -> str:
    """Format a time in milliseconds or microseconds."""
    return f"{time * 1e6:.1f} us" if time < 1e-3 else f"{time * 1e3:.1f} ms"


def line(*cells: str) -> None:
    """Print a line of a table."""
    print(f"| {' | '.join(cells)} |", flush=True)
