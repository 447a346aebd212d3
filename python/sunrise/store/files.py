"""Files on disk: written atomically, read whole or as memory maps."""

from __future__ import annotations

import glob
import mmap
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sunrise.store.errors import ModelFileError


def temporary_beside(path: Path) -> Path:
    """Return a new name in the folder of a file, for a temporary file that will replace it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def remove_temporary(path: Path) -> None:
    """Delete the temporary files that killed processes have left beside a file; no process may be writing it."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        left.unlink(missing_ok=True)


def write_atomically(path: Any, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file so that a crash leaves either the old file or the new one, whole.

    The pieces go to a temporary file in the same folder, which then replaces the file in one step. An existing file
    keeps its permissions, and a link keeps its name.
    """
    target = Path(os.path.realpath(os.fspath(path)))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder. Add the name of a file.")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    temporary = temporary_beside(target)
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"The folder {os.fspath(target.parent)!r} does not exist. Create it first."
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.chmod(temporary, mode)
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, on systems where folders can be synchronised."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def read_bytes(source: Any, is_mapped: bool = False) -> memoryview:
    """Return the bytes of a file, in memory or as a read-only memory map; bytes are returned as they are."""
    if isinstance(source, bytes | bytearray | memoryview):
        return memoryview(source)
    with open(os.fspath(source), "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ModelFileError(f"The file {os.fspath(source)!r} is empty.")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if is_mapped else file.read())
