"""What the tests of the boundary share: odd layouts, and calls that must not take Python down with them."""

import subprocess
import sys

import numpy as np
import pytest


def _strided(a):
    view = np.zeros([2 * n for n in a.shape], a.dtype)[(slice(None, None, 2),) * a.ndim]
    view[...] = a
    return view


def _unaligned(a):
    if a.dtype == object:
        return _field(a)  # a buffer cannot hold objects
    view = np.frombuffer(bytearray(a.nbytes + 1), a.dtype, offset=1).reshape(a.shape)
    view[...] = a
    return view


def _field(a):
    table = np.zeros(a.shape, [("before", "u1"), ("wanted", a.dtype)])
    table["wanted"] = a
    return table["wanted"]


def _read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


#: The same numbers, lying otherwise in memory.
LAYOUTS = {
    "fortran": np.asfortranarray,
    "rows_reversed": lambda a: a[::-1].copy()[::-1],
    "all_reversed": lambda a: np.flip(np.flip(a).copy()),
    "strided": _strided,
    "unaligned": _unaligned,
    "field": _field,
    "big_endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "read_only": _read_only,
}


def pytest_generate_tests(metafunc):
    if "layout" in metafunc.fixturenames:
        metafunc.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@pytest.fixture(scope="session")
def outcome():
    def call(function, *arguments):
        """What a call returns, None where it refuses; anything but a plain error, such as a panic, fails."""
        error = None
        try:
            return function(*arguments)
        except BaseException as raised:
            error = raised
        assert isinstance(error, ValueError | TypeError | OverflowError | MemoryError), repr(error)
        return None

    return call


@pytest.fixture(scope="session")
def refused_without_memory():
    """Which of some calls raise a plain error where memory cannot be had, in a process that they may end."""
    if sys.platform != "linux":
        pytest.skip("needs a limit on memory")

    def refused(setting, calls):
        script = f"""
import resource
import numpy as np
{setting}
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
for call in {calls}:
    try:
        eval(call)
    except (MemoryError, ValueError):
        print(call, flush=True)
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        sys.stderr.write(done.stderr)
        return done.stdout.splitlines()

    return refused
