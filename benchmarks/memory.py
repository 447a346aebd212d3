"""Memory of a call: the increase of the peak resident size of this process."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any


def resident(what: str) -> int:
    """Read a size in bytes from /proc/self/status: VmRSS is the current, VmHWM the peak resident size."""
    with open("/proc/self/status") as status:
        return next(int(row.split()[1]) * 1024 for row in status if row.startswith(what))


def grown(run: Callable[[], Any]) -> int:
    """Return the increase of the peak resident size during a call, in bytes."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")  # reset the peak
    before = resident("VmRSS")
    run()
    return resident("VmHWM") - before
