"""Compare the time of a default fit with that of the calibrated fit of another checkout of Sunrise.

python -m benchmarks.against CHECKOUT [NAME ...]

Each checkout is measured in a process of its own, with one thread, in processor time, as the minimum of three fits. The
other checkout needs its native library, and its model is NaiveBayes(calibrate="columns").
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.tables import schema
from benchmarks.timing import line

HERE = Path(__file__).resolve().parents[1]
MEASURE = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import sunrise
from benchmarks.tables import load, protocol, schema
known, found = schema(), {}
settings = json.loads(sys.argv[1])
for name in sys.argv[2:]:
    X, y, _ = protocol(load(name, known[name]))
    times = []
    for _ in range(4):
        start = time.process_time()
        sunrise.NaiveBayes(**settings).fit(X, y)
        times.append(time.process_time() - start)
    found[name] = min(times[1:])
print(json.dumps(found))
"""


def measured(checkout: Path, settings: dict[str, str], names: list[str]) -> dict[str, float]:
    """Return the time of a fit for every table, in seconds."""
    one_thread = dict.fromkeys(("SUNRISE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    env = os.environ | one_thread | {"PYTHONPATH": f"{checkout / 'python'}{os.pathsep}{HERE}"}
    command = [sys.executable, "-c", MEASURE, json.dumps(settings), *names]
    done = subprocess.run(command, env=env, cwd=checkout, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def main(arguments: list[str]) -> None:
    """Print a line for each table, and the ratio of the sums."""
    other, names = Path(arguments[0]).resolve(), arguments[1:] or list(schema())
    before = measured(other, {"calibrate": "columns"}, names)
    now = measured(HERE, {}, names)
    line("table", "before, ms", "now, ms", "ratio")
    print("|---|---|---|---|")
    for name in names:
        line(name, f"{1e3 * before[name]:.0f}", f"{1e3 * now[name]:.0f}", f"{now[name] / before[name]:.2f}")
    line("sum", "", "", f"{sum(now.values()) / sum(before.values()):.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
