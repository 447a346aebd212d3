"""Python values as JSON and arrays, and back.

None, booleans, whole numbers, finite floats, strings and lists are JSON as they are. Everything else is a dict whose
key "$" names its kind: the other entries depend on the kind, and `_Reader` has one method for each.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise.statistics.deferred import Deferred
from sunrise.store.classes import class_named, name_of_class, stored_fields
from sunrise.store.errors import ModelFileError
from sunrise.store.packing import Packed, check_strings, pack_strings, unpack_strings

_DATES: dict[str, Any] = {"date": datetime.date, "datetime": datetime.datetime, "time": datetime.time}


class CannotSaveError(TypeError):
    """Raised for a value that a model file cannot hold; `place` says where it is."""

    def __init__(self, place: str, value: Any) -> None:
        super().__init__(f"{place} is of type {type(value).__name__}")
        self.place, self.value = place, value


class Writer:
    """Writes values as JSON, and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        #: Arrays that were written, by identity: a shared array is stored once.
        self._written: dict[int, tuple[Any, Any]] = {}

    def write(self, value: Any, place: str) -> Any:
        """Return a value as JSON; `place` is its name in error texts."""
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            return self.write(value.item(), place)
        if type(value) is float:
            return value if math.isfinite(value) else {"$": "float", "text": repr(value)}
        if type(value) is list:
            return [self.write(item, place) for item in value]
        if type(value) is tuple:
            return {"$": "tuple", "items": [self.write(item, place) for item in value]}
        if type(value) is dict:
            items = [[self.write(k, f"a key of {place}"), self.write(v, place)] for k, v in value.items()]
            return {"$": "dict", "items": items}
        if isinstance(value, frozenset | set):
            return {"$": "set", "items": [self.write(item, place) for item in sorted(value)]}
        if isinstance(value, range) and value == range(len(value)):
            return {"$": "range", "length": len(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        if (kind := type(value).__name__) in _DATES and type(value) is _DATES[kind]:
            return {"$": kind, "text": value.isoformat()}
        if isinstance(
            value, datetime.datetime
        ):  # a pandas Timestamp, which may have a time zone and nanoseconds
            zone = getattr(value.tzinfo, "key", None if value.tzinfo is None else str(value.tzinfo))
            return {"$": "timestamp", "text": value.isoformat(), "zone": zone}
        if hasattr(value, "tocsr"):
            matrix = value.tocsr()
            parts = {
                name: self._array(getattr(matrix, name), place) for name in ("indptr", "indices", "data")
            }
            return {"$": "csr", "shape": [int(n) for n in matrix.shape], **parts}
        return self._record(value, place)

    def _record(self, value: Any, place: str) -> Any:
        """Return the fields of a dataclass or NamedTuple that differ from their defaults."""
        if (name := name_of_class(type(value))) is None:
            raise CannotSaveError(place, value)
        write = self._packed if isinstance(value, Deferred) else self.write
        record = {"$": name}
        for field, default in stored_fields(type(value)).items():
            own = getattr(value, field)
            if own is not default and not (type(own) in (bool, int, str, float) and own == default):
                record[field] = write(own, f"{field} of {place}")
        return record

    def _array(self, a: NDArray[Any], place: str) -> Any:
        key = id(a)
        if key not in self._written:
            self._written[key] = self._new_array(a, place), a  # keeps `a`, so that its id stays its own
        return self._written[key][0]

    def _new_array(self, a: NDArray[Any], place: str) -> Any:
        kind = a.dtype.kind
        if kind in "US" or (kind == "O" and all(type(item) is str for item in a.ravel().tolist())):
            if kind == "S":
                raise CannotSaveError(place, b"")
            blob, offsets = pack_strings(a.ravel().tolist())
            own: dict[str, Any] = {"$": "strings", "bytes": self._add(blob), "offsets": self._add(offsets)}
            own |= {"shape": list(a.shape)} if a.ndim != 1 else {}
            return own | ({"fixed": True} if kind == "U" else {})
        if kind == "O":
            items = [self.write(item, place) for item in a.ravel().tolist()]
            return {"$": "objects", "items": items, "shape": list(a.shape)}
        if kind in "mM":
            return {"$": "array", "name": self._add(a.view(np.int64)), "type": str(a.dtype.newbyteorder("="))}
        if kind not in "biuf" or a.dtype.itemsize > 8 or a.dtype == np.float16:
            raise CannotSaveError(place, a)
        return {"$": "array", "name": self._add(a)}

    def _packed(self, value: Any, place: str) -> Any:
        """Return an array of statistics in as few bytes as possible."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
            return self.write(value, place)
        packed = Packed.of(value)
        if packed.mask is None and packed.values.dtype == value.dtype:
            return {"$": "array", "name": self._add(packed.values)}
        own = {"$": "packed", "values": self._add(packed.values), "type": value.dtype.str[1:]}
        return own | (
            {} if packed.mask is None else {"mask": self._add(packed.mask), "shape": list(value.shape)}
        )

    def _add(self, a: NDArray[Any]) -> str:
        name = str(len(self.arrays))
        self.arrays[name] = a
        return name


class Reader:
    """Reads values back from JSON and arrays. Anything that `Writer` does not write raises ModelFileError."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays
        self._shared: dict[str, Any] = {}
        #: Dimensions of the statistics that were read, by identity.
        self.sizes: dict[int, dict[str, int]] = {}

    def read(self, value: Any) -> Any:
        """Return the value that was written as this JSON."""
        if isinstance(value, list):
            return [self.read(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = value.get("$")
        method = self._METHODS.get(kind) if isinstance(kind, str) else None
        if method is None:
            return self._record(value)
        name = value.get("name", value.get("bytes"))
        if not isinstance(name, str):
            return method(self, value)
        if name not in self._shared:  # an array that was shared is shared again
            self._shared[name] = method(self, value)
        return self._shared[name]

    def _items(self, value: Any) -> list[Any]:
        items = value.get("items")
        if not isinstance(items, list):
            raise ModelFileError("A list of the model file has no items.")
        return [self.read(item) for item in items]

    def _tuple(self, value: Any) -> Any:
        return tuple(self._items(value))

    def _set(self, value: Any) -> Any:
        return frozenset(self._items(value))

    def _dict(self, value: Any) -> Any:
        return {key: item for key, item in self._items(value)}  # noqa: C416  (a pair that is no pair raises)

    def _range(self, value: Any) -> Any:
        length = value.get("length")
        if type(length) is not int or length < 0:
            raise ModelFileError("A range of the model file has no length.")
        return range(length)

    def _float(self, value: Any) -> Any:
        if value.get("text") not in ("nan", "inf", "-inf"):
            raise ModelFileError("A number of the model file is not valid.")
        return float(value["text"])

    def _date(self, value: Any) -> Any:
        return _DATES[value["$"]].fromisoformat(value["text"])

    def _timestamp(self, value: Any) -> Any:
        """Return a pandas Timestamp; a datetime where pandas is not installed."""
        try:
            from pandas import Timestamp  # type: ignore[import-untyped]
        except ImportError:
            return datetime.datetime.fromisoformat(value["text"])
        moment = Timestamp(value["text"])
        return moment if value.get("zone") is None else moment.tz_convert(value["zone"])

    def _tensor(self, name: Any) -> NDArray[Any]:
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFileError("The model file lacks an array that it refers to.")
        return self.arrays[name]

    def _array(self, value: Any) -> Any:
        a = self._tensor(value.get("name"))
        if (kind := value.get("type")) is None:
            return a.astype(a.dtype.newbyteorder("="), copy=False)
        if not isinstance(kind, str) or not kind.startswith(("datetime64[", "timedelta64[")):
            raise ModelFileError("An array of the model file has an unknown type.")
        if a.dtype.kind != "i" or a.dtype.itemsize != 8:
            raise ModelFileError("The dates of the model file are not whole numbers.")
        return a.view(np.dtype(kind))

    def _packed(self, value: Any) -> Callable[[], NDArray[Any]]:
        """Return a function that unpacks an array; the array is checked now."""
        packed, dtype, shape = self._packed_parts(value)
        packed.check(dtype, shape)
        return lambda: packed.unpack(dtype, shape)

    def _packed_parts(self, value: Any) -> tuple[Packed, np.dtype[Any], tuple[int, ...]]:
        if value.get("type") not in ("i8", "f8", "i4", "i1", "f4"):
            raise ModelFileError("A packed array of the model file has an unknown type.")
        values = self._tensor(value.get("values"))
        if "mask" not in value:
            return Packed(values, None), np.dtype(value["type"]), values.shape
        shape = value.get("shape")
        if not _is_shape(shape):
            raise ModelFileError("A packed array of the model file has no shape.")
        return Packed(values, self._tensor(value["mask"])), np.dtype(value["type"]), tuple(shape)

    def _strings(self, value: Any) -> Callable[[], NDArray[Any]]:
        """Return a function that makes the strings; their bytes are checked now."""
        blob, offsets = self._tensor(value.get("bytes")), self._tensor(value.get("offsets"))
        check_strings(blob, offsets)
        shape = value.get("shape", [len(offsets) - 1])
        if not _is_shape(shape) or math.prod(shape) != len(offsets) - 1:
            raise ModelFileError("An array of strings of the model file does not have its shape.")

        def strings() -> NDArray[Any]:
            own = unpack_strings(blob, offsets)
            if value.get("fixed"):
                return np.array(own, dtype=str).reshape(shape)
            array = np.empty(len(own), dtype=object)
            array[:] = own
            return array.reshape(shape)

        return strings

    def _objects(self, value: Any) -> Any:
        items, shape = self._items(value), value.get("shape")
        if not _is_shape(shape) or math.prod(shape) != len(items):
            raise ModelFileError("An array of the model file does not have its shape.")
        array = np.empty(len(items), dtype=object)
        for position, item in enumerate(items):
            array[position] = item
        return array.reshape(shape)

    def _csr(self, value: Any) -> Any:
        from scipy.sparse import csr_array

        parts = tuple(self.read(value.get(name)) for name in ("data", "indices", "indptr"))
        shape = value.get("shape")
        if not _is_shape(shape) or shape[1] > max(2**16, 8 * sum(a.nbytes for a in self.arrays.values())):
            raise ModelFileError("A sparse matrix of the model file does not have its shape.")
        matrix = csr_array(parts, shape=tuple(shape))
        matrix.check_format(full_check=True)
        return matrix

    def _record(self, value: Any) -> Any:
        """Build a dataclass or NamedTuple from its fields; fields that this version does not know are ignored."""
        cls = class_named(value.get("$"))
        known = stored_fields(cls)
        if issubclass(cls, Deferred):
            return self._statistics(cls, value)
        own = {field: self.read(value[field]) if field in value else known[field] for field in known}
        if absent := [field for field, item in own.items() if item is MISSING]:
            raise ModelFileError(f"The model file has no {absent[0]!r} where one is needed.")
        if not is_dataclass(cls):
            return cls(**own)
        init = {field.name for field in fields(cls) if field.init}
        record = cls(**{name: item for name, item in own.items() if name in init})
        record.__dict__.update(own)  # exactly as it was, also where the constructor would adjust a setting
        return record

    def _statistics(self, cls: type[Deferred], value: Any) -> Any:
        """Build statistics whose arrays are unpacked when they are first used."""
        parts: dict[str, Any] = {}
        later: dict[str, Callable[[], Any]] = {}
        sizes: dict[str, int] = {}
        for field, default in stored_fields(cls).items():
            own, shape = value.get(field), None
            if own is None and default is None:
                parts[field] = None
                continue
            if isinstance(own, dict) and own.get("$") == "packed":
                later[field], shape = self._packed(own), self._packed_parts(own)[2]
            elif isinstance(own, dict) and own.get("$") == "strings":
                later[field] = self._strings(own)
                shape = (len(self._tensor(own["offsets"])) - 1,)
            else:
                parts[field] = self.read(own)
                shape = getattr(parts[field], "shape", None)
            if (
                default is not MISSING and field in later
            ):  # a default would hide a field that is computed later
                parts[field] = later.pop(field)()
            if field in cls.shapes:
                _check_shape(cls.shapes[field], shape, sizes)
        statistics = cls.deferred(parts, later)
        if not statistics.is_consistent(sizes):
            raise ModelFileError("The numbers of levels or values in the model file do not fit together.")
        self.sizes[id(statistics)] = sizes
        return statistics

    _METHODS: dict[str, Callable[[Reader, Any], Any]] = {
        "tuple": _tuple,
        "set": _set,
        "dict": _dict,
        "range": _range,
        "float": _float,
        "date": _date,
        "datetime": _date,
        "time": _date,
        "timestamp": _timestamp,
        "array": _array,
        "packed": lambda self, value: self._packed(value)(),
        "strings": lambda self, value: self._strings(value)(),
        "objects": _objects,
        "csr": _csr,
    }


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and len(shape) <= 4 and all(type(n) is int and n >= 0 for n in shape)


def _check_shape(names: tuple[str, ...], shape: Any, sizes: dict[str, int]) -> None:
    """Raise ModelFileError unless an array has the dimensions of its field; equal names are equal numbers."""
    if shape is not None and len(names) == len(shape):
        for name, n in zip(names, shape, strict=True):
            if name.startswith("1 or "):
                name = name.removeprefix("1 or ")
                if n == 1:
                    continue
            if sizes.setdefault(name, n) != n:
                break
        else:
            return
    raise ModelFileError("The arrays of the model file do not fit together.")
