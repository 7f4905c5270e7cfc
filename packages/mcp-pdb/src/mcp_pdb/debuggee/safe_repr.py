"""One-line summaries of any value, within a budget and without running its code.

A summary costs a bounded number of visited values, not only a bounded text:
a list of a million items is never walked. Values of the standard library and
of the usual array libraries are shown by ``values_by_type``; everything else
by its own attributes. No ``__repr__``, ``__len__``, ``__iter__``, ``__eq__``
or ``__hash__`` of the program is called.
"""

from __future__ import annotations

from _collections import deque
from collections import OrderedDict
from itertools import islice

from . import values_by_type
from .fingerprints import fingerprint
from .raw_fields import class_mro, class_name, fields, printable, steadily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable

__all__ = ["clip", "fingerprint", "summarize"]

_MAX_DEPTH = 4
_MAX_DIGITS_BITS = 14000
"""Beyond this Python 3.11+ refuses to turn an int into text (4300 digits)."""
_PLAIN = {id(kind) for kind in (str, int, float, bool, bytes, type(None))}
_MANY = 2000


def summarize(value: object, limit_chars: int = 200) -> str:
    """The value in one line of at most ``limit_chars`` characters."""
    try:
        text = steadily(_walked, value, limit_chars)
    except RecursionError:
        text = "<%s, nested too deeply to show>" % class_name(type(value))
    except Exception as error:  # a C type of the program may raise anything when read
        text = _unreadable(type(value), error)
    return clip(text, limit_chars)


def _unreadable(cls: type, error: Exception) -> str:
    return "<%s that cannot be read: %s>" % (class_name(cls), class_name(type(error)))


def _walked(value: object, limit_chars: int) -> str:
    return Walk(limit_chars).text(value, limit_chars)


def clip(text: str, limit_chars: int) -> str:
    """The text, cut with an ellipsis where it is longer than the limit."""
    if len(text) <= limit_chars:
        return text
    return text[: limit_chars - 1] + "…" if limit_chars > 0 else ""


class Walk:
    """One summary under way: how many values it may still visit, and where it is."""

    __slots__ = ("ancestors", "nodes")

    def __init__(self, limit_chars: int) -> None:
        self.nodes = limit_chars // 2 + 20
        self.ancestors: list[object] = []

    def text(self, value: object, limit: int) -> str:
        """The value in about ``limit`` characters; the caller cuts what is over."""
        self.nodes -= 1
        cls = type(value)
        if self.nodes < 0:
            return "…"
        plain = _SCALARS.get(id(cls))
        if plain is not None:
            return plain(value, limit)
        if any(value is ancestor for ancestor in self.ancestors):
            return "<cycle: %s>" % class_name(cls)
        if len(self.ancestors) >= _MAX_DEPTH or limit < 6:
            return _collapsed(value, cls)
        self.ancestors.append(value)
        try:
            return self._compound(value, cls, limit)
        finally:
            self.ancestors.pop()

    def _compound(self, value: Any, cls: type, limit: int) -> str:
        container = _CONTAINERS.get(id(cls))
        if container is not None:
            return container(self, value, limit)
        try:
            special = values_by_type.special_text(self, value, cls, limit)
        except RuntimeError:  # a container changed while it was read, or no stack is left: for summarize
            raise
        except Exception as error:  # an object that was never initialised, or a C type's own failure
            return _unreadable(cls, error)
        if special is not None:
            return special
        return self._derived(value, cls, limit)

    def _derived(self, value: Any, cls: type, limit: int) -> str:
        """A subclass of a built-in as ``Name(<built-in part>, attribute=…)``, else its attributes."""
        own = fields(value)
        base = built_in_base(cls)
        if base is None:
            if not own and not values_by_type.is_python_class(cls):
                return values_by_type.opaque(cls)
            return self.attributes(cls, own, limit)
        name = class_name(cls)
        room = limit - len(name) - 2
        room = room // 2 if own else room
        show = _SCALARS.get(id(base))
        inner = show(value, room) if show else _CONTAINERS[id(base)](self, value, room)
        return self.attributes(cls, own, limit, inner)

    def attributes(self, cls: type, own: list[tuple[str, Any]], limit: int, first: str = "") -> str:
        """``Name(first, attribute=value, …)``."""
        name = class_name(cls)
        room = limit - len(name) - len(first) - 4
        if first and (room < 8 or not own):
            return "%s(%s)" % (name, first)
        opening = "%s(%s" % (name, first + ", " if first else "")
        return self.join(
            [(printable(key) + "=", item) for key, item in own[: limit // 3 + 1]],
            len(own),
            None,
            (opening, ")", "attributes"),
            limit,
        )

    def join(
        self,
        head: list[tuple[str, Any]],
        total: int,
        tail: tuple[str, Any] | None,
        style: tuple[str, str, str],
        limit: int,
    ) -> str:
        """The items of ``head``, in full where they are ``total``; else some, the tail, and the count.

        An item is (text before, value); ``style`` is (opening, closing, what is counted).
        """
        opening, closing, unit = style
        room = limit - len(opening) - len(closing)
        shown: list[str] = []
        left = total
        for prefix, item in head:
            allowance = min(room, max(room // min(left, 3 if shown else 2), 24)) - len(prefix)
            text = prefix + (self.text(item, allowance) if allowance > 0 else "…")
            if len(text) > room:
                break
            shown.append(text)
            room -= len(text) + 2
            left -= 1
        if not left:
            return opening + ", ".join(shown) + closing
        end = ", …"
        if tail is not None and left > 1:
            end += ", " + tail[0] + clip(self.text(tail[1], 40), 40)
        end += "%s (%d %s)" % (closing, total, unit)
        length = len(opening) + len(end) + sum(map(len, shown)) + 2 * len(shown)
        while shown and length > limit:
            length -= len(shown.pop()) + 2
        if length > limit:
            return opening + "…" + "%s (%d %s)" % (closing, total, unit)
        return opening + ", ".join(shown) + (end if shown else end[2:])

    def pairs(self, items: Iterable[tuple[Any, Any]], key_limit: int) -> list[tuple[str, Any]]:
        """Items of a mapping as (key text with colon, value)."""
        return [(clip(self.text(key, key_limit), key_limit) + ": ", item) for key, item in items]


def built_in_base(cls: type) -> type | None:
    """The built-in whose content ``cls`` inherits: str, int, list, dict …; None for plain classes."""
    for base in class_mro(cls):
        if id(base) in _SCALARS or id(base) in _CONTAINERS:
            return base
    return None


def mapping_items(mapping: Any, count: int) -> list[tuple[Any, Any]]:
    """The first ``count`` items in the mapping's own order, read atomically.

    An OrderedDict looks every key up again while it is walked, so its own
    order is used only where all keys are plain (no ``__hash__`` of the program).
    """
    if issubclass(type(mapping), OrderedDict) and _keys_are_plain(mapping):
        return list(islice(OrderedDict.items(mapping), count))
    return list(islice(dict.items(mapping), count))


def last_item(mapping: Any) -> tuple[Any, Any]:
    """The last item in the mapping's own order."""
    if issubclass(type(mapping), OrderedDict) and _keys_are_plain(mapping):
        return next(iter(reversed(OrderedDict.items(mapping))))
    return next(iter(reversed(dict.items(mapping))))


def _keys_are_plain(mapping: Any) -> bool:
    return dict.__len__(mapping) <= _MANY and all(id(type(key)) in _PLAIN for key in dict.keys(mapping))


def _collapsed(value: Any, cls: type) -> str:
    base = built_in_base(cls)
    name = class_name(cls)
    if base is None:
        return name + "(…)" if values_by_type.is_python_class(cls) else values_by_type.opaque(cls)
    if id(base) in _CONTAINERS:
        size = base.__len__(value)
        return "%s(%s)" % (name, "%d items" % size if size else "")
    return name + "(…)"


def _int(value: int, limit: int) -> str:
    bits = int.bit_length(value)
    if bits < 200:
        return int.__repr__(value)
    if bits > _MAX_DIGITS_BITS:
        sign = "negative " if int.__lt__(value, 0) else ""
        return "<%sint of about %d digits>" % (sign, bits * 0.30103 + 1)
    text = int.__repr__(value)
    if len(text) <= limit:
        return text
    suffix = " (%d digits)" % len(text)
    room = max(limit - len(suffix) - 1, 8)
    return text[: room - 4] + "…" + text[-4:] + suffix


def _string(value: Any, limit: int, kind: Any = str, unit: str = "chars") -> str:
    size = kind.__len__(value)
    if size <= limit:
        text = kind.__repr__(value)
        if len(text) <= limit:
            return text
    suffix = " (%d %s)" % (size, unit)
    room = limit - len(suffix) - 6
    if room < 8:
        return clip(kind.__repr__(kind.__getitem__(value, slice(0, max(limit, 0)))), limit)
    tail_room = room // 4
    head = _fitting(value, kind, room - tail_room, from_end=False)
    tail = _fitting(value, kind, tail_room, from_end=True)
    return head + "…" + tail + suffix


def _fitting(value: Any, kind: Any, room: int, *, from_end: bool) -> str:
    """The representation of as much of the start (or end) as fits in ``room``."""
    count = room
    while True:
        piece = slice(-count, None) if from_end else slice(0, count)
        text = kind.__repr__(kind.__getitem__(value, piece))
        if len(text) <= room + 2 or count <= 1:
            return text
        count = max(1, min(count - 1, count * room // len(text)))


def _bytes(value: Any, limit: int) -> str:
    return _string(value, limit, bytes, "bytes")


def _bytearray(value: Any, limit: int) -> str:
    size = bytearray.__len__(value)
    head = bytes(bytearray.__getitem__(value, slice(0, limit)))
    if size <= limit:
        return "bytearray(%s)" % _bytes(head, limit - 11)
    return "bytearray(%s…) (%d bytes)" % (_fitting(head, bytes, max(limit - 34, 4), from_end=False), size)


def _constant(value: Any, limit: int) -> str:
    return repr(value)


def _sequence(kind: Any, opening: str, closing: str) -> Callable[[Walk, Any, int], str]:
    def show(walk: Walk, value: Any, limit: int) -> str:
        size = kind.__len__(value)
        head = list(islice(kind.__iter__(value), limit // 3 + 1))
        tail = ("", kind.__getitem__(value, size - 1)) if size > len(head) or size > 8 else None
        end = ",)" if kind is tuple and size == 1 else closing
        return walk.join([("", item) for item in head], size, tail, (opening, end, "items"), limit)

    return show


def _set(kind: Any, opening: str, closing: str) -> Callable[[Walk, Any, int], str]:
    def show(walk: Walk, value: Any, limit: int) -> str:
        size = kind.__len__(value)
        if not size:
            return "set()" if kind is set else "frozenset()"
        head = list(islice(kind.__iter__(value), limit // 3 + 1))
        kinds = {id(type(item)) for item in head}
        if size == len(head) and (kinds == {id(str)} or kinds == {id(int)}):
            head.sort()
        return walk.join([("", item) for item in head], size, None, (opening, closing, "items"), limit)

    return show


def _dict(walk: Walk, value: Any, limit: int) -> str:
    size = dict.__len__(value)
    if not size:
        return "{}"
    head = walk.pairs(mapping_items(value, limit // 6 + 1), max(limit // 3, 8))
    tail = None
    if size > len(head) or size > 8:
        tail = walk.pairs([last_item(value)], 20)[0]
    return walk.join(head, size, tail, ("{", "}", "keys"), limit)


_SCALARS: dict[int, Callable[[Any, int], str]] = {
    id(str): _string,
    id(int): _int,
    id(float): lambda value, limit: float.__repr__(value),
    id(complex): lambda value, limit: complex.__repr__(value),
    id(bytes): _bytes,
    id(bytearray): _bytearray,
    id(bool): _constant,
    id(type(None)): _constant,
    id(type(Ellipsis)): _constant,
    id(type(NotImplemented)): _constant,
}
_CONTAINERS: dict[int, Callable[[Walk, Any, int], str]] = {
    id(list): _sequence(list, "[", "]"),
    id(tuple): _sequence(tuple, "(", ")"),
    id(deque): _sequence(deque, "deque([", "])"),
    id(dict): _dict,
    id(set): _set(set, "{", "}"),
    id(frozenset): _set(frozenset, "frozenset({", "})"),
}
