"""A temporary PostgreSQL server on a Unix socket, for tests that run SQL."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; None where PostgreSQL is not installed."""
    if os.name == "nt":  # no Unix sockets
        return None
    folders = [*sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]
    if found := shutil.which("pg_ctl"):
        folders.insert(0, str(Path(found).resolve().parent))
    return next(
        (Path(f) for f in folders if (Path(f) / "initdb").exists() and (Path(f) / "pg_ctl").exists()), None
    )


@contextmanager
def server(folder: Path):
    """Run a server; yield the arguments of a connection. PostgreSQL refuses to run as root."""
    user = {}
    home = Path(tempfile.mkdtemp(prefix="sunrise-pg-"))
    if os.getuid() == 0:
        import pwd

        names = {entry.pw_name: entry for entry in pwd.getpwall()}
        entry = names.get("postgres") or names["nobody"]
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        os.chown(home, entry.pw_uid, entry.pw_gid)
    run = {"check": True, "cwd": home, "env": {**os.environ, "LC_ALL": "C.UTF-8"}, **user}
    data = home / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        subprocess.run(
            [folder / "initdb", "-D", data, "-U", "sunrise", "-A", "trust", "-E", "UTF8", "--no-sync"],
            **run,
            **quiet,
        )
        options = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c fsync=off"
        subprocess.run(
            [folder / "pg_ctl", "-D", data, "-w", "-o", options, "-l", home / "log", "start"], **run, **quiet
        )
        try:
            yield {"host": str(home), "user": "sunrise", "dbname": "postgres"}
        finally:
            subprocess.run([folder / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **run, **quiet)
    finally:
        shutil.rmtree(home, ignore_errors=True)
