"""Files that are damaged or made to harm raise ModelFileError: nothing else, in little time and memory."""

from __future__ import annotations

import hashlib
import json
import random
import time
import tracemalloc

import model_zoo
import numpy as np
import pytest
import sunrise as sr
from sunrise.store.container import pack, unpack

NAMES = (
    "default",
    "stream",
    "blocks",
    "em",
    "KernelNB",
    "TextNB odds",
    "TextNB dirichlet_multinomial",
    "laplace",
)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def files():
    zoo = model_zoo.one_of_each()
    return [b"".join(zoo[name]()[0]._pieces()) for name in NAMES]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Change, insert, delete or cut some bytes; more often in the header than in the body."""
    changed = bytearray(data)
    header = 8 + int.from_bytes(data[:8], "little")
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        if len(changed) < 50:
            break
        place = rng.randrange(min(header, len(changed)) if rng.random() < 0.6 else len(changed))
        kind = rng.randrange(10)
        if kind < 4:
            changed[place] = rng.randrange(256)
        elif kind < 5:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind < 6:
            del changed[place : place + rng.randrange(1, 9)]
        elif kind < 7:
            changed[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif kind < 9:  # another digit keeps the header valid JSON
            while place < len(changed) - 1 and not 48 <= changed[place] < 58:
                place += 1
            changed[place] = rng.choice(b"0123456789")
        else:
            del changed[rng.randrange(len(changed)) :]
    return bytes(changed)


def with_valid_checksum(data: bytes) -> bytes:
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_a_million_mutations(files, scaled, part):
    rng, n = random.Random(part), scaled(100_000)
    n_loaded, longest, most = 0, 0.0, 0
    tracemalloc.start()
    try:
        for k in range(n):
            original = files[k % len(files)]
            data = mutated(original, rng)
            keeps_checksum = k // len(files) % 2 == 0
            if not keeps_checksum:
                data = with_valid_checksum(data)
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            start = time.process_time()
            try:
                sr.load(data)
                n_loaded += not keeps_checksum
                assert not keeps_checksum or data == original
            except sr.ModelFileError:
                pass
            longest = max(longest, time.process_time() - start)
            most = max(most, tracemalloc.get_traced_memory()[1] - before - 4 * len(data))
    finally:
        tracemalloc.stop()
    assert most < 2_000_000 and longest < 2.0
    assert 0 < n_loaded < n / 4  # a changed count or weight is another valid model


def changed(data: bytes, change) -> bytes:
    """The same file with a changed description and a valid checksum."""
    contents = unpack(data)
    spec = json.loads(json.dumps(contents.spec))
    change(spec)
    return b"".join(pack(spec, contents.arrays))


def set_to(*path_and_value):
    *path, last, value = path_and_value

    def change(spec):
        for key in path:
            spec = spec[key]
        spec[last] = value

    return change


HUGE = {"$": "range", "length": 10**15}
CONTRADICTIONS = {
    "other format": set_to("format", "other"),
    "version": set_to("version", "1"),
    "no requirements": set_to("requires", None),
    "kind": set_to("kind", "statistics"),
    "estimator": set_to("estimator", "os.system"),
    "unhashable estimator": set_to("estimator", []),
    "base class": set_to("estimator", "Estimator"),
    "arguments": set_to("arguments", 5),
    "huge names": set_to("schema", "names", HUGE),
    "names": set_to("schema", "names", 5),
    "choices": set_to("schema", "choices", []),
    "family": set_to("schema", "choices", 0, "family", {"$": "family evil"}),
    "class": set_to("stats", {"$": "Popen"}),
    "no class": set_to("stats", {}),
    "blocks": set_to("stats", "blocks", {"$": "tuple", "items": []}),
    "block": set_to("stats", "blocks", "items", 0, None),
    "classes": set_to("stats", "classes", 3),
    "array": set_to("stats", "rows", {"$": "array", "name": "none"}),
    "array type": set_to("stats", "rows", {"$": "array", "name": "0", "type": "object"}),
    "settings": set_to("settings", None),
    "calibration": set_to("calibration", 3),
    "columns": set_to("attributes", "n_features_in_", 10**12),
    "kept rows": set_to("attributes", "_kept", 5),
    "decay": set_to("attributes", "_decay", "x"),
    "score": set_to("attributes", "loo_score_", 5),
    "class prior": set_to("class_prior", ["a", "b", "c"]),
    "more classes": set_to("classes", {"$": "objects", "items": ["x", "y"], "shape": [2]}),
    "equal names": set_to("schema", "names", {"$": "tuple", "items": ["a"] * 6}),
    "no attributes": set_to("attributes", None),
    "dict": set_to("settings", {"$": "dict", "items": [[[], 1]]}),
    "sparse": set_to("settings", {"$": "csr", "shape": [10**9, 10**9]}),
    "date": set_to("settings", {"$": "date", "text": 5}),
    "set": set_to("settings", {"$": "set", "items": [[]]}),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_description_that_contradicts_itself_is_refused(files, name):
    with pytest.raises(sr.ModelFileError):
        sr.load(changed(files[0], CONTRADICTIONS[name]))


def test_a_file_that_requires_more_names_the_version_to_install(files):
    def newer(spec):
        spec.update(requires=["mixtures"], written_by="7.1")

    for read in (sr.load, sr.inspect):
        with pytest.raises(sr.ModelFileError, match=r"requires 'mixtures'.*Install sunrise 7.1 or later"):
            read(changed(files[0], newer))


def test_unknown_keys_are_ignored(files):
    def newer(spec):
        spec.update(version=2, colour="red")
        spec["attributes"]["_mood"] = {"$": "anything"}
        spec["arguments"]["mood"] = "good"
        spec["calibration"]["tone"] = 5

    assert str(sr.load(changed(files[0], newer))) == str(sr.load(files[0]))


@pytest.mark.parametrize("data", [b"", b"x", b"PK\3\4" + b"0" * 99, b"\x80\4pickle" + b"0" * 99])
def test_other_files_are_refused(data, tmp_path):
    path = tmp_path / "m.sunrise"
    path.write_bytes(data)
    for read in (sr.load, sr.inspect):
        with pytest.raises(sr.ModelFileError):
            read(path)


def test_a_missing_file_is_not_a_damaged_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        sr.load(tmp_path / "none.sunrise")


def test_numbers_that_do_not_fit_are_refused_when_they_are_used(files):
    """Counts are unpacked late; a text of invalid words is refused when the words are first read."""
    model = model_zoo.one_of_each()["TextNB odds"]()[0]
    contents = unpack(b"".join(model._pieces()))
    words = contents.spec["stats"]["blocks"]["items"][0]["codes"]["bytes"]
    broken = np.full_like(contents.arrays[words], 0xFF)
    loaded = sr.load(b"".join(pack(contents.spec, {**contents.arrays, words: broken})))
    with pytest.raises(sr.ModelFileError, match="UTF-8"):
        loaded.predict(["sun"])
