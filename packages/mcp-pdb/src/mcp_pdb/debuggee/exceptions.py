"""Describes an exception: its message, where it was raised, and what led to it."""

from __future__ import annotations

from types import FunctionType

from .raw_fields import MISSING, class_name, find_in_class, instance_dict, loaded, read_descriptor
from .safe_repr import clip, summarize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any, Iterator

_MESSAGE_CHARS = 600
_LINK_CHARS = 200
_LINKS = 8
_MEMBERS = 5


def describe_exception(exc_type: type, exc: BaseException | None, tb: TracebackType | None) -> dict[str, Any]:
    """Type, message, origin (where it was raised) and chain (causes, members, notes) in words.

    ``str(exc)`` is code of the program: what it raises becomes the message.
    """
    if exc is None:
        return {"type": class_name(exc_type), "message": "", "origin": origin(tb), "chain": []}
    chain = _chain(exc)
    return {
        "type": class_name(type(exc)),
        "message": message(exc, _MESSAGE_CHARS),
        "origin": origin(tb if tb is not None else _field(exc, "__traceback__")),
        "chain": [text for text, _ in zip(chain, range(_LINKS))],
    }


def message(exc: BaseException, limit_chars: int = _MESSAGE_CHARS) -> str:
    """``str(exc)``, guarded and cut."""
    if type(find_in_class(type(exc), "__str__")) is not FunctionType:
        plain = _plain_message(exc)
        if plain is not None:
            return clip_text(plain, limit_chars)
    try:
        return clip_text(str(exc), limit_chars)
    except Exception as error:
        return clip("<str() of it raised %s> %s" % (class_name(type(error)), summarize(exc)), limit_chars)


def clip_text(text: str, limit_chars: int) -> str:
    """Text of the program as exact, encodable str of at most ``limit_chars``, saying what was cut."""
    size = str.__len__(text)
    if size > limit_chars:
        note = "… (%d chars)" % size
        text = str.__getitem__(text, slice(0, max(limit_chars - len(note), 0))) + note
    else:
        text = str.__getitem__(text, slice(None))
    if text.isascii():
        return clip(text, limit_chars)
    return clip(text.encode("utf-8", "backslashreplace").decode("utf-8"), limit_chars)


def origin(tb: TracebackType | None) -> dict[str, Any] | None:
    """The place where it was raised: the innermost frame of the traceback."""
    if tb is None:
        return None
    while tb.tb_next is not None:
        tb = tb.tb_next
    code = tb.tb_frame.f_code
    return {"file": code.co_filename, "line": tb.tb_lineno, "function": function_name(code)}


def function_name(code: CodeType) -> str:
    """The qualified name where the interpreter knows it (3.11+), else the bare one."""
    return getattr(code, "co_qualname", code.co_name)


def one_line(exc: BaseException) -> str:
    """``Type: message`` with the place where it was raised."""
    text = class_name(type(exc))
    said = message(exc, _LINK_CHARS)
    if said:
        text += ": " + " ".join(said.split())
    place = origin(_field(exc, "__traceback__"))
    if place is not None:
        text += " (%s:%d in %s)" % (place["file"].rpartition("/")[2], place["line"], place["function"])
    return text


def _chain(exc: BaseException) -> Iterator[str]:
    yield from _notes(exc)
    yield from _members(exc)
    seen = [exc]
    while True:
        cause = _field(exc, "__cause__")
        context = _field(exc, "__context__")
        if cause is not None:
            exc, how = cause, "caused by "
        elif context is not None and not _field(exc, "__suppress_context__"):
            exc, how = context, "raised while handling "
        else:
            return
        if any(exc is earlier for earlier in seen):
            return
        seen.append(exc)
        yield how + one_line(exc)
        yield from _members(exc)


def _notes(exc: BaseException) -> Iterator[str]:
    notes = (instance_dict(exc) or {}).get("__notes__")
    if type(notes) is list:
        for note in notes[:3]:
            if type(note) is str:
                yield "note: " + clip_text(note, _LINK_CHARS)


def _members(exc: BaseException, prefix: str = "") -> Iterator[str]:
    members = group_members(exc)
    for number, member in enumerate(members[:_MEMBERS], 1):
        yield "member %s%d of %d: %s" % (prefix, number, len(members), one_line(member))
        yield from _members(member, "%s%d." % (prefix, number))


def group_members(exc: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group (3.11+ or the ``exceptiongroup`` backport), else none."""
    group = loaded("builtins", "BaseExceptionGroup")
    if group is not MISSING and issubclass(type(exc), group):
        members = read_descriptor(group, "exceptions", exc)
    else:
        members = (instance_dict(exc) or {}).get("_exceptions")
    if type(members) is not tuple:
        return ()
    return tuple(member for member in members if issubclass(type(member), BaseException))


def _field(exc: BaseException, name: str) -> Any:
    found = read_descriptor(BaseException, name, exc)
    return None if found is MISSING else found


def _plain_message(exc: BaseException) -> str | None:
    """The message where it is a plain string, so that nothing of the program needs to run."""
    arguments = read_descriptor(BaseException, "args", exc)
    if type(arguments) is not tuple or find_in_class(type(exc), "__str__") is not BaseException.__str__:
        return None
    if not arguments:
        return ""
    return arguments[0] if len(arguments) == 1 and type(arguments[0]) is str else None
