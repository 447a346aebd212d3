"""Row groups of Parquet files, shared out among tasks that read them themselves."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from sunrise.cluster.tasks import AddUp

#: Most tasks; from the first number on, only if there are more than `BYTES` bytes for each of them.
TASKS = 1024, 20_000
BYTES = 512 << 20
#: Rows that are read at once.
ROWS = 1 << 16


class RowGroup(NamedTuple):
    """A row group: path of its file, its number in the file, and its size in bytes."""

    path: str
    number: int
    n_bytes: int
    n_rows: int


def files_of(paths: Any) -> list[str]:
    """Return the Parquet files that paths, folders and addresses such as s3://bucket/folder stand for, in order."""
    from pyarrow import fs

    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[str] = []
    for path in (os.fspath(one) for one in given):
        system, inner = _open_system(path)
        info = system.get_file_info(inner)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(f"There is no file or folder {path!r}.")
        if info.type == fs.FileType.File:
            found.append(path if "://" in path else inner)
            continue
        prefix = path.partition("://")[0] + "://" if "://" in path else ""
        names = sorted(
            file.path
            for file in system.get_file_info(fs.FileSelector(inner, recursive=True))
            if file.type == fs.FileType.File and not file.base_name.startswith(("_", "."))
        )
        if not names:
            raise FileNotFoundError(f"The folder {path!r} has no files.")
        found += [prefix + name for name in names]
    return found


def _open_system(path: str) -> tuple[Any, str]:
    """Return the file system of a path, and the path in it."""
    from pyarrow import fs

    if "://" in path:
        return fs.FileSystem.from_uri(path)  # type: ignore[no-any-return]
    return fs.LocalFileSystem(), os.path.abspath(path)


def open_file(path: str) -> Any:
    """Open a Parquet file."""
    from pyarrow import parquet

    system, inner = _open_system(path)
    return parquet.ParquetFile(system.open_input_file(inner), pre_buffer=True)


def row_groups(files: Sequence[str]) -> list[RowGroup]:
    """Return the row groups of files, whose footers are read here."""

    def of(path: str) -> list[RowGroup]:
        with open_file(path) as file:
            groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
            return [RowGroup(path, k, g.total_byte_size, g.num_rows) for k, g in enumerate(groups)]

    with ThreadPoolExecutor(16) as pool:
        return [group for groups in pool.map(of, files) for group in groups]


def shared_out(groups: Sequence[RowGroup], n_tasks: int | None) -> tuple[tuple[RowGroup, ...], ...]:
    """Return neighbouring row groups for every task, of about the same number of bytes.

    >>> [len(task) for task in shared_out([RowGroup("a", k, 10, 5) for k in range(7)], 3)]
    [2, 3, 2]
    """
    n_bytes = sum(group.n_bytes for group in groups)
    wanted = min(max(TASKS[0], n_bytes // BYTES), TASKS[1]) if n_tasks is None else n_tasks
    if wanted >= len(groups):
        return tuple((group,) for group in groups)
    tasks: list[list[RowGroup]] = [[] for _ in range(max(1, wanted))]
    before = 0
    for group in groups:
        middle = before + group.n_bytes / 2
        tasks[min(int(middle * len(tasks) / max(n_bytes, 1)), len(tasks) - 1)].append(group)
        before += group.n_bytes
    return tuple(tuple(task) for task in tasks if task)


def packed(tasks: Sequence[Sequence[RowGroup]]) -> bytes:
    """Return the row groups of all tasks as few bytes, because every task gets them: files, and ranges of groups.

    >>> unpacked(packed([[RowGroup("a", 3, 9, 9), RowGroup("a", 4, 9, 9), RowGroup("b", 0, 9, 9)]]), 0)
    [('a', [3, 4]), ('b', [0])]
    """
    files = {path: k for k, path in enumerate(dict.fromkeys(group.path for task in tasks for group in task))}
    ranges = []
    for task in tasks:
        own: list[list[int]] = []
        for group in task:
            if own and own[-1][0] == files[group.path] and own[-1][2] == group.number:
                own[-1][2] += 1
            else:
                own.append([files[group.path], group.number, group.number + 1])
        ranges.append(own)
    return zlib.compress(json.dumps([list(files), ranges]).encode())


def unpacked(plan: bytes, number: int) -> list[tuple[str, list[int]]]:
    """Return the files of a task and the row groups to read of each."""
    files, ranges = json.loads(zlib.decompress(plan))
    return [(files[k], list(range(first, end))) for k, first, end in ranges[number]]


@dataclass(frozen=True)
class AddUpFiles:
    """Adds up the row groups of a task, which the worker reads itself. The batches hold the numbers of tasks."""

    add_up: AddUp
    #: The row groups of all tasks.
    plan: bytes
    #: Names of the columns to read; None for all.
    columns: tuple[str, ...] | None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Return one row for every task."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                task = unpacked(self.plan, number)
                (first, groups), (last, _) = task[0], task[-1]
                origin = f"{first!r} from row group {groups[0]}" + (f" to {last!r}" if last != first else "")
                yield self.add_up.of(number, self._read(task), origin).batch

    def _read(self, task: list[tuple[str, list[int]]]) -> Iterator[Any]:
        columns = None if self.columns is None else list(self.columns)
        for path, groups in task:
            with open_file(path) as file:
                yield from file.iter_batches(ROWS, row_groups=groups, columns=columns, use_threads=False)
