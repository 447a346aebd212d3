"""Progress of a long pass over a source, on a terminal: rows, MB/s and the time left."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any, Self

#: Seconds until progress is shown: short passes print nothing.
QUIET = 2.0
#: Seconds between two lines.
BETWEEN = 0.5


class Progress:
    """Shows the progress of a pass on standard error: with rich if it is installed; nothing without a terminal."""

    def __init__(self, title: str, n_bytes: int | None) -> None:
        self._title, self._total = title, n_bytes or 0
        self._start = self._shown = monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._is_shown = False

    def __enter__(self) -> Self:
        return self

    def update(self, n_rows: int, n_bytes: int) -> None:
        """Show the numbers of rows and bytes that were read so far."""
        now = monotonic()
        if now - self._start < QUIET or now - self._shown < BETWEEN or not sys.stderr.isatty():
            return
        self._shown = now
        text = describe(n_rows, n_bytes, self._total, now - self._start)
        if not self._is_shown:
            self._is_shown, self._bar = True, _rich_bar()
            if self._bar is not None:
                self._bar.start()
                self._task = self._bar.add_task(self._title, total=self._total or None, text=text)
        if self._bar is not None:
            self._bar.update(self._task, completed=n_bytes, text=text)
        else:
            print(f"\r{self._title}: {text}\033[K", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._is_shown:
            print(file=sys.stderr)


def describe(n_rows: int, n_bytes: int, total: int, seconds: float) -> str:
    """Return the progress in words.

    >>> describe(1_500_000, 200_000_000, 800_000_000, 2.0)
    '1,500,000 rows, 100 MB/s, 6 s left'
    """
    text = f"{n_rows:,} rows"
    if n_bytes and seconds > 0:
        speed = n_bytes / seconds
        left = max(0, total - n_bytes) / speed
        text += f", {speed / 1e6:.0f} MB/s"
        if total:
            text += f", {left / 60:.0f} min left" if left >= 120 else f", {left:.0f} s left"
    return text


def _rich_bar() -> Any:
    """Return a progress bar of rich; None if rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        return None
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}")
    return Progress(*columns, console=Console(stderr=True), transient=True)
