"""The container and the packing of arrays restore every bit, and refuse everything else."""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np
import pytest
import sunrise as sr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sunrise.store.container import pack, unpack
from sunrise.store.packing import Packed, check_strings, pack_strings, unpack_strings
from sunrise.store.values import Reader, Writer

TYPES = ["f8", "i8", "u8", "f4", "i4", "u4", "i2", "u2", "i1", "u1", "?"]
arrays = npst.arrays(
    st.sampled_from(TYPES).map(np.dtype), npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
)


def bits(a):
    return a.dtype, a.shape, a.tobytes()


def joined(spec, named):
    return b"".join(pack(spec, named))


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5).filter(lambda k: k not in ("digest", "__metadata__")), arrays
    )
)
def test_arrays_come_back_with_every_bit_aligned_to_their_types(named):
    contents = unpack(joined({"a": [1, "é"]}, named))
    assert contents.spec == {"a": [1, "é"]} and contents.arrays.keys() == named.keys()
    for name, a in named.items():
        back = contents.arrays[name]
        assert bits(back) == bits(np.ascontiguousarray(a).reshape(a.shape)) and not back.flags.writeable


def test_arrays_are_aligned_and_the_layout_is_that_of_safetensors():
    named = {"a": np.zeros(3, np.uint8), "b": np.arange(5.0), "c": np.ones(3, np.int16)}
    data = joined({}, named)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert length % 8 == 0 and list(header) == ["__metadata__", "b", "c", "a", "digest"]
    for name, a in named.items():
        first, end = header[name]["data_offsets"]
        assert (
            data[8 + length + first : 8 + length + end] == a.tobytes()
            and (8 + length + first) % a.itemsize == 0
        )
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    assert np.array_equal(safetensors.load(data)["b"], named["b"])


def test_every_changed_byte_is_noticed():
    data = joined({"x": 1}, {"a": np.arange(4.0), "b": np.zeros(2, bool)})
    for place in range(len(data)):
        with pytest.raises(sr.ModelFileError):
            unpack(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    for end in range(len(data)):
        with pytest.raises(sr.ModelFileError):
            unpack(data[:end])
    with pytest.raises(sr.ModelFileError):
        unpack(data + b"\0")


def signed(header, body):
    """A container with this header and a valid checksum."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + body
    return data + hashlib.sha256(data).digest()


def entry(dtype="F64", shape=(1,), place=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(place)}


DIGEST = {"digest": entry("U8", (32,), (8, 40))}
HOSTILE = {
    "no digest": {"a": entry()},
    "gap": {"a": entry(place=(8, 16)), **DIGEST},
    "overlap": {"a": entry(), "b": entry(), **DIGEST},
    "negative": {"a": entry(shape=(-1,)), **DIGEST},
    "huge": {"a": entry(shape=(2**60, 2**60)), **DIGEST},
    "too many dimensions": {"a": entry(shape=(1,) * 40), **DIGEST},
    "float size": {"a": entry(shape=(1.0,)), **DIGEST},
    "boolean size": {"a": entry(shape=(True,)), **DIGEST},
    "unknown type": {"a": entry("C128"), **DIGEST},
    "unhashable type": {"a": {**entry(), "dtype": []}, **DIGEST},
    "no shape": {"a": {"dtype": "F64"}, **DIGEST},
    "a list": {"a": [], **DIGEST},
    "boolean of 7": {"a": entry("BOOL", (8,)), **DIGEST},
    "nothing of ours": {"a": entry(), **DIGEST},
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "long integer": b'{"a":' + b"9" * 100_000 + b"}",
    "not UTF-8": b'{"\xff": 1}',
    "NaN": b'{"a": NaN}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_are_refused(name):
    with pytest.raises(sr.ModelFileError):
        unpack(signed(HOSTILE[name], b"\7" * 8))


numbers = npst.arrays(
    st.sampled_from(["f8", "i8", "i4", "f4"]).map(np.dtype),
    st.tuples(st.integers(0, 9), st.integers(0, 30)),
    elements=None,
    fill=st.just(0),
)
whole = npst.arrays(np.float64, st.integers(0, 200), elements=st.integers(-(2**40), 2**40).map(float))


@given(st.one_of(numbers, whole))
def test_packing_restores_every_bit(a):
    packed = Packed.of(a)
    packed.check(a.dtype, a.shape)
    assert bits(packed.unpack(a.dtype, a.shape)) == bits(np.ascontiguousarray(a).reshape(a.shape))
    assert packed.values.nbytes + (0 if packed.mask is None else packed.mask.nbytes) <= a.nbytes + 1


@pytest.mark.parametrize("value", [-0.0, math.nan, math.inf, 5e-324, 2.0**53 + 2, -1.0, 1e300])
def test_unusual_numbers_are_packed(value):
    a = np.where(np.arange(100) % 7 == 0, value, 0.0)
    packed = Packed.of(a)
    assert packed.unpack(a.dtype, a.shape).tobytes() == a.tobytes()


@given(st.lists(st.text(st.characters(codec=None))))
def test_strings_come_back(strings):
    blob, offsets = pack_strings(strings)
    check_strings(blob, offsets)
    assert unpack_strings(blob, offsets) == strings


@pytest.mark.parametrize(
    "blob, offsets",
    [([97], [0, 2]), ([97], [1, 1]), ([97, 98], [0, 2, 1, 2]), ([97], []), ([97], [0])],
)
def test_strings_with_wrong_offsets_are_refused(blob, offsets):
    with pytest.raises(sr.ModelFileError):
        check_strings(np.array(blob, np.uint8), np.array(offsets, np.uint32))


@pytest.mark.parametrize("blob, offsets", [([0xFF], [0, 1]), (list("é".encode()), [0, 1, 2])])
def test_strings_that_are_not_utf8_are_refused(blob, offsets):
    with pytest.raises(sr.ModelFileError):
        unpack_strings(np.array(blob, np.uint8), np.array(offsets, np.uint32))


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0)),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.text(), st.integers()), inner)
    ),
    max_leaves=20,
)


@given(plain)
def test_values_come_back(value):
    writer = Writer()
    contents = unpack(joined(writer.write(value, "it"), writer.arrays))
    assert repr(Reader(contents.arrays).read(contents.spec)) == repr(value)
