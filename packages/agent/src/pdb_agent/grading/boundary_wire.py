"""What crosses the boundary between tests and candidate: messages, and plain values in them.

Stand-alone: standard library only, Python 3.10 and later; both sides load it.

A message is a four-byte length and JSON. Values of *exactly* the plain types
travel by value, everything else as a reference that the sender's ``refer``
makes and the receiver's ``resolve`` reads. Nothing is ever unpickled, called or
imported here, so decoding what an attacker sent yields plain values, what
``resolve`` allows, or a WireError.
"""

import json
import socket
import struct
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath
from typing import Any, TypeAlias
from uuid import UUID

Refer: TypeAlias = Callable[[Any], dict[str, Any]]
Resolve: TypeAlias = Callable[[dict[str, Any]], Any]

MESSAGE_LIMIT_BYTES = 4 << 20
_DEPTH_LIMIT = 40
_DIGITS_LIMIT = 10_000
_LENGTH = struct.Struct("!I")
_REFERENCE = "ref"


class WireError(Exception):
    """A value cannot be sent, or a message is none."""


class Wire:
    """Messages over a connected socket; sending is safe from several threads."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, message: Any) -> None:
        """Raises WireError for a message over the limit, OSError when the other side is gone."""
        try:
            data = json.dumps(message, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise WireError(str(error)) from None
        if len(data) > MESSAGE_LIMIT_BYTES:
            raise WireError("the message is too large")
        with self._sending:
            self._connection.sendall(_LENGTH.pack(len(data)) + data)

    def receive(self) -> Any:
        """The next message. Raises EOFError at the end, WireError for what is no message."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if length > MESSAGE_LIMIT_BYTES:
            raise WireError("the message is too large")
        try:
            return json.loads(self._exactly(length))
        except (ValueError, RecursionError):
            raise WireError("the message is not JSON") from None

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            piece = self._connection.recv(min(count - len(data), 1 << 16))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)


def encode(value: Any, refer: Refer, depth: int = 0) -> Any:
    """A value as JSON. Raises WireError for one nested too deeply, such as one that holds itself."""
    if depth > _DEPTH_LIMIT:
        raise WireError("the value is nested too deeply")
    kind = type_of(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is list:
        return [encode(item, refer, depth + 1) for item in value]
    tag = _TAGS.get(kind)
    if tag is None or (kind is int and value.bit_length() > 3 * _DIGITS_LIMIT):
        return {_REFERENCE: refer(value)}
    if kind in _CONTAINERS:
        return {tag: [encode(item, refer, depth + 1) for item in _ENCODERS[tag](value)]}
    if kind is defaultdict and value.default_factory not in _FACTORIES.values():
        return {_REFERENCE: refer(value)}
    if (kind is datetime and not _has_simple_zone(value)) or (kind is time and value.tzinfo is not None):
        return {_REFERENCE: refer(value)}
    return {tag: _ENCODERS[tag](value)}


def decode(message: Any, resolve: Resolve) -> Any:
    """The value that ``encode`` was given. Raises WireError, or what ``resolve`` raises."""
    if message is None or isinstance(message, bool | str):
        return message
    if isinstance(message, list):
        return [decode(item, resolve) for item in _items(message)]
    if not isinstance(message, dict) or len(_items(message)) != 1:
        raise WireError("no such value")
    ((tag, body),) = _items(message).items()
    if tag == _REFERENCE:
        if not isinstance(body, dict):
            raise WireError("no such reference")
        return resolve(_items(body))
    if tag not in _DECODERS:
        raise WireError("no such kind of value")
    if tag in _CONTAINER_TAGS:
        body = [decode(item, resolve) for item in _items(body)] if isinstance(body, list) else None
    try:
        return _DECODERS[tag](body)
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, AttributeError):
        raise WireError(f"no {tag}") from None


def is_plain(value: Any) -> bool:
    """Whether the value's type is exactly one of those that travel by value."""
    return value is None or type_of(value) in _PLAIN_TYPES


def type_of(value: object) -> type[Any]:
    """The type itself, whatever an object says of its class."""
    return type(value)


def _items(value: Any) -> Any:
    return value


def _has_simple_zone(value: datetime) -> bool:
    return value.tzinfo is None or type(value.tzinfo) is timezone


def _zone_parts(zone: timezone) -> list[Any]:
    offset = zone.utcoffset(None)
    name = zone.tzname(None)
    return [*_delta_parts(offset), None if timezone(offset).tzname(None) == name else name]


def _zone(parts: list[Any]) -> timezone:
    days, seconds, microseconds, name = parts
    offset = timedelta(days, seconds, microseconds)
    return timezone(offset) if name is None else timezone(offset, name)


def _delta_parts(value: timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _moment_parts(value: datetime) -> list[Any]:
    zone = value.tzinfo
    parts = [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond]
    return [*parts, value.fold, _zone_parts(zone) if isinstance(zone, timezone) else None]


def _moment(parts: list[Any]) -> datetime:
    *numbers, fold, zone = parts
    return datetime(*numbers, fold=fold, tzinfo=None if zone is None else _zone(zone))


def _whole(text: str) -> int:
    if len(text) > _DIGITS_LIMIT:
        raise ValueError
    return int(text, 16)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _parts(value: Any) -> list[Any]:
    return [part for pair in value.items() for part in pair]


def _pairs(parts: list[Any]) -> list[tuple[Any, Any]]:
    return list(zip(parts[::2], parts[1::2], strict=True))


def _default_parts(value: defaultdict[Any, Any]) -> list[Any]:
    factory = value.default_factory
    return [None if factory is None else factory.__name__, *_parts(value)]


_FACTORIES: dict[str | None, Any] = {
    None: None,
    **{kind.__name__: kind for kind in (int, float, str, list, dict, set)},
}
# Per tag: the exact type, value -> JSON (or, of a container, its items), JSON -> value.
_PLAIN: dict[str, tuple[type[Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "int": (int, hex, _whole),
    "float": (float, float.hex, float.fromhex),
    "complex": (complex, lambda v: [v.real.hex(), v.imag.hex()], lambda j: complex(*map(float.fromhex, j))),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "bytearray": (bytearray, bytearray.hex, bytearray.fromhex),
    "Decimal": (Decimal, str, lambda j: Decimal(_text(j))),
    "Fraction": (
        Fraction,
        lambda v: [hex(v.numerator), hex(v.denominator)],
        lambda j: Fraction(*map(_whole, j)),
    ),
    "date": (date, lambda v: [v.year, v.month, v.day], lambda j: date(*j)),
    "datetime": (datetime, _moment_parts, _moment),
    "time": (
        time,
        lambda v: [v.hour, v.minute, v.second, v.microsecond, v.fold],
        lambda j: time(*j[:4], fold=j[4]),
    ),
    "timedelta": (timedelta, _delta_parts, lambda j: timedelta(*j)),
    "timezone": (timezone, _zone_parts, _zone),
    "PosixPath": (PosixPath, str, lambda j: PosixPath(_text(j))),
    "PurePosixPath": (PurePosixPath, str, lambda j: PurePosixPath(_text(j))),
    "UUID": (UUID, lambda v: v.hex, lambda j: UUID(hex=_text(j))),
    "range": (range, lambda v: [v.start, v.stop, v.step], lambda j: range(*j)),
    "slice": (slice, lambda v: [v.start, v.stop, v.step], lambda j: slice(*j)),
    "tuple": (tuple, list, tuple),
    "set": (set, list, set),
    "frozenset": (frozenset, list, frozenset),
    "dict": (dict, _parts, lambda j: dict(_pairs(j))),
    "OrderedDict": (
        OrderedDict,
        _parts,
        lambda j: OrderedDict(_pairs(j)),
    ),
    "Counter": (
        Counter,
        _parts,
        lambda j: Counter(dict(_pairs(j))),
    ),
    "defaultdict": (defaultdict, _default_parts, lambda j: defaultdict(_FACTORIES[j[0]], _pairs(j[1:]))),
    "deque": (deque, lambda v: [v.maxlen, *v], lambda j: deque(j[1:], j[0])),
}
_CONTAINER_TAGS = frozenset(
    {"tuple", "set", "frozenset", "dict", "defaultdict", "OrderedDict", "Counter", "deque", "range", "slice"}
)
_TAGS: dict[type[Any], str] = {kind: tag for tag, (kind, _, _) in _PLAIN.items()}
_ENCODERS = {tag: encoder for tag, (_, encoder, _) in _PLAIN.items()}
_DECODERS = {tag: decoder for tag, (_, _, decoder) in _PLAIN.items()}
_CONTAINERS = frozenset(kind for tag, (kind, _, _) in _PLAIN.items() if tag in _CONTAINER_TAGS)
_PLAIN_TYPES = frozenset({bool, str, list, *_TAGS})
