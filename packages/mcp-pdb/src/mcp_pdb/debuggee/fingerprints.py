"""A cheap, bounded hash of what a value holds, to notice changes between two stops."""

from __future__ import annotations

from _collections import deque
from itertools import islice
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)

from .array_values import is_library_class
from .raw_fields import MISSING, class_mro, fields, instance_dict, loaded, read_descriptor, steadily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NODES = 500
_MAX_DEPTH = 12
_TAIL = 40
_SAMPLE = 2000
_WHOLE = 65536
_PLAIN = {id(kind) for kind in (str, int, float, bool, bytes, complex, type(None))}
_is_plain = _PLAIN.__contains__
_BUILT_IN = {id(kind) for kind in (list, tuple, deque, dict, set, frozenset)}
_BY_IDENTITY = {id(kind) for kind in (FunctionType, BuiltinFunctionType, MethodType, ModuleType)}
_FRAMES = {id(GeneratorType): "gi_frame", id(CoroutineType): "cr_frame", id(AsyncGeneratorType): "ag_frame"}
_SEQUENCES = (list, tuple, deque)
_SETS = (set, frozenset)


def fingerprint(value: object) -> int:
    """A number that differs when the contents differ, as far as the first 500 or so values go.

    Runs no code of the program. Only comparable within one process.
    """
    try:
        return steadily(_hashed, value)
    except Exception:  # a C type of the program may raise anything when read
        return 0


def _hashed(value: object) -> int:
    return _Hasher().number(value, 0)


class _Hasher:
    __slots__ = ("left", "seen")

    def __init__(self) -> None:
        self.left = _NODES
        self.seen: dict[int, int] = {}

    def number(self, value: Any, depth: int) -> int:
        cls = type(value)
        if _is_plain(id(cls)):
            self.left -= 1
            return hash((id(cls), _plain(value, cls) if value == value else 0))
        place = self.seen.get(id(value))
        if place is not None:
            return hash(("seen", place))
        if self.left <= 0 or depth > _MAX_DEPTH:
            return id(cls)
        self.left -= 1
        self.seen[id(value)] = len(self.seen)
        return hash((id(cls), self.content(value, cls, depth)))

    def content(self, value: Any, cls: type, depth: int) -> int:
        if id(cls) in _BY_IDENTITY or issubclass(cls, type):
            return id(value)
        for kind in _SEQUENCES:
            if issubclass(cls, kind):
                return self.sequence(kind, value, depth) ^ self.own_fields(value, cls, depth)
        if issubclass(cls, dict):
            return self.mapping(value, depth) ^ self.own_fields(value, cls, depth)
        for kind in _SETS:
            if issubclass(cls, kind):
                return self.unordered(kind, value, depth) ^ self.own_fields(value, cls, depth)
        if issubclass(cls, bytearray):
            return hash(_sample(value, bytearray.__len__(value), bytearray))
        for base in class_mro(cls):
            if _is_plain(id(base)):
                return hash((_plain(value, base), self.own_fields(value, cls, depth)))
        return self.opaque(value, cls, depth)

    def opaque(self, value: Any, cls: type, depth: int) -> int:
        frame_attribute = _FRAMES.get(id(cls))
        if frame_attribute is not None:
            frame = getattr(value, frame_attribute)
            return hash((id(value), frame.f_lasti if frame is not None else None))
        array = loaded("numpy", "ndarray")
        if array is not MISSING and issubclass(cls, array):
            return self.array(array, value, depth)
        if is_library_class(cls, "pandas") and "_mgr" in (instance_dict(value) or {}):
            return self.items([block.values for block in value._mgr.blocks], 0, depth)
        if is_library_class(cls, "torch") and issubclass(cls, loaded("torch", "Tensor")):
            return _tensor(value)
        if issubclass(cls, BaseException):
            return self.number(read_descriptor(BaseException, "args", value), depth + 1)
        own = fields(value)
        return self.pairs(own, depth) if own else id(value)

    def array(self, base: Any, value: Any, depth: int) -> int:
        described = (read_descriptor(base, "shape", value), str(read_descriptor(base, "dtype", value)))
        size = read_descriptor(base, "size", value)
        if described[1] == "object":
            items = [base.item(value, index) for index in range(min(size, self.left))]
            return hash((described, self.items(items, size, depth)))
        if read_descriptor(base, "nbytes", value) <= _WHOLE:
            return hash((described, base.tobytes(value)))
        flat = read_descriptor(base, "flat", value)
        sample = flat[:: max(size // _SAMPLE, 1)]
        return hash((described, base.tobytes(flat[:_SAMPLE]), base.tobytes(sample)))

    def sequence(self, kind: Any, value: Any, depth: int) -> int:
        size = kind.__len__(value)
        items = list(islice(kind.__iter__(value), self.left))
        if size > len(items) and kind is not deque:
            items += kind.__getitem__(value, slice(-_TAIL, None))
        return self.items(items, size, depth)

    def items(self, items: list[Any], size: int, depth: int) -> int:
        types = tuple(map(id, map(type, items)))
        if all(map(_is_plain, types)):
            self.left -= len(items)
            return hash((size, types, tuple(items)))
        return hash((size, tuple([self.number(item, depth + 1) for item in items])))

    def mapping(self, value: Any, depth: int) -> int:
        size = dict.__len__(value)
        half = self.left // 2 + 1
        pairs = list(islice(dict.items(value), half))
        if size > half:
            pairs += list(islice(reversed(dict.items(value)), _TAIL))
        keys = self.items([key for key, _ in pairs], size, depth)
        return hash((keys, self.items([item for _, item in pairs], size, depth)))

    def unordered(self, kind: Any, value: Any, depth: int) -> int:
        numbers = [self.number(item, depth + 1) for item in islice(kind.__iter__(value), self.left)]
        return hash((kind.__len__(value), tuple(sorted(numbers))))

    def own_fields(self, value: Any, cls: type, depth: int) -> int:
        return 0 if id(cls) in _BUILT_IN else self.pairs(fields(value), depth)

    def pairs(self, own: list[tuple[str, Any]], depth: int) -> int:
        return hash(tuple([(name, self.number(item, depth + 1)) for name, item in own[: self.left + 1]]))


def _plain(value: Any, kind: Any) -> int:
    if kind is not str and kind is not bytes:
        return kind.__hash__(value)
    size = kind.__len__(value)
    if size <= _WHOLE:
        return kind.__hash__(value)
    return hash(_sample(value, size, kind))


def _sample(value: Any, size: int, kind: Any) -> tuple[int, bytes | str, bytes | str]:
    convert = bytes if kind is bytearray else kind
    if size <= _WHOLE:
        return (size, convert(kind.__getitem__(value, slice(None))), b"")
    step = size // _SAMPLE
    ends = kind.__getitem__(value, slice(0, _SAMPLE)), kind.__getitem__(value, slice(-_SAMPLE, None))
    return (size, convert(ends[0] + ends[1]), convert(kind.__getitem__(value, slice(None, None, step))))


def _tensor(value: Any) -> int:
    """Small tensors by their values; of others, torch itself counts the in-place changes."""
    shape = tuple(value.shape)
    if value.device.type == "cpu" and 0 < value.numel() <= _TAIL and str(value.layout) == "torch.strided":
        return hash((shape, str(value.detach().tolist())))
    return hash((shape, value.data_ptr(), value._version))
