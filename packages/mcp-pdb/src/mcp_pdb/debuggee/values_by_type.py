"""Summaries of well-known types: functions, exceptions, enums, dates, locks, arrays.

``special_text`` finds the entry for a value's class or the nearest base that
has one. A library's types are recognised only when the library is loaded and
the class really is its own; nothing is imported to show a value. ``walk`` is
the summary under way (``safe_repr.Walk``), which shows what lies inside.
"""

from __future__ import annotations

from _thread import RLock, allocate_lock
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    ModuleType,
)

from . import array_values, library_values
from .raw_fields import (
    MISSING,
    class_module,
    class_name,
    class_namespace,
    class_qualname,
    fields,
    find_in_class,
    instance_dict,
    loaded,
    module_namespace,
    printable,
    read_descriptor,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .safe_repr import Walk

    Show = Callable[[Walk, Any, type, int], "str | None"]

_HEAP_TYPE = 1 << 9
_read_flags = type.__dict__["__flags__"].__get__


def special_text(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    """The summary of a value of a well-known type, None for all others."""
    show = _EXACT.get(id(cls))
    if show is not None:
        return show(walk, value, cls, limit)
    if issubclass(cls, type):
        return "<class '%s'>" % class_path(value)
    if issubclass(cls, BaseException):
        return _exception(walk, value, cls, limit)
    enum = loaded("enum", "Enum")
    if enum is not MISSING and issubclass(cls, enum):
        return _enum(walk, value, cls, limit)
    if issubclass(cls, tuple):
        return _named_tuple(walk, value, cls, limit)
    if issubclass(cls, ModuleType):
        return _module(walk, value, cls, limit)
    return library_values.library_text(walk, value, cls, limit)


def is_python_class(cls: type) -> bool:
    """True for classes made by a class statement, False for those of C code."""
    return bool(_read_flags(cls) & _HEAP_TYPE) and "__module__" in class_namespace(cls)


def opaque(cls: type) -> str:
    """What is said of an object of C code that has nothing to show."""
    module = class_module(cls)
    name = class_qualname(cls)
    return "<%s object>" % (name if module in ("builtins", "") else "%s.%s" % (printable(module), name))


def class_path(cls: type) -> str:
    """``module.Class``, without ``builtins`` and ``__main__``."""
    module = class_module(cls)
    name = class_qualname(cls)
    return name if module in ("builtins", "__main__", "") else "%s.%s" % (printable(module), name)


def _place(code: Any) -> str:
    return "%s:%d" % (printable(code.co_filename.rpartition("/")[2]), code.co_firstlineno)


def _function(walk: Walk, value: Any, cls: type, limit: int) -> str:
    code = value.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = ", ".join(code.co_varnames[:count])
    return "<function %s(%s) %s>" % (printable(value.__qualname__), names, _place(code))


def _method(walk: Walk, value: Any, cls: type, limit: int) -> str:
    function = value.__func__
    owner = type(value.__self__)
    name = printable(function.__qualname__) if type(function) is FunctionType else opaque(type(function))
    if issubclass(owner, type):
        return "<class method %s of %s>" % (name, class_name(value.__self__))
    return "<method %s of a %s>" % (name, class_name(owner))


def _built_in(walk: Walk, value: Any, cls: type, limit: int) -> str:
    bound_to = value.__self__
    if bound_to is None or type(bound_to) is ModuleType:
        return "<built-in function %s>" % printable(value.__name__)
    return "<method %s of a %s>" % (printable(value.__name__), class_name(type(bound_to)))


def _module(walk: Walk, value: Any, cls: type, limit: int) -> str:
    name = module_namespace(value).get("__name__")
    return "<module %s>" % (str.__repr__(name) if type(name) is str else "without a name")


def _code(walk: Walk, value: Any, cls: type, limit: int) -> str:
    return "<code %s %s>" % (printable(value.co_name), _place(value))


def _frame(walk: Walk, value: Any, cls: type, limit: int) -> str:
    return "<frame of %s, line %s>" % (printable(value.f_code.co_name), value.f_lineno)


def _suspended(kind: str, prefix: str) -> Show:
    def show(walk: Walk, value: Any, cls: type, limit: int) -> str:
        frame = getattr(value, prefix + "_frame")
        code = getattr(value, prefix + "_code")
        name = "<%s %s" % (kind, printable(value.__qualname__))
        if getattr(value, prefix + "_running"):
            return name + ", running>"
        if frame is None:
            return name + ", finished>"
        if _has_started(value, prefix, frame):
            return "%s, suspended at line %s>" % (name, frame.f_lineno)
        return "%s, not started, %s>" % (name, _place(code))

    return show


def _has_started(value: Any, prefix: str, frame: Any) -> bool:
    suspended = getattr(value, prefix + "_suspended", None)
    if suspended is not None:
        return suspended
    if frame.f_lasti < 0:
        return False
    return frame.f_lineno != frame.f_code.co_firstlineno or not hasattr(frame.f_code, "co_qualname")


def _mapping_proxy(walk: Walk, value: Any, cls: type, limit: int) -> str:
    return "mappingproxy(%s)" % _referred(walk, value, limit - 14)


def _view(walk: Walk, value: Any, cls: type, limit: int) -> str:
    name = class_name(cls)
    return "<%s of %s>" % (name, _referred(walk, value, limit - len(name) - 6))


def _referred(walk: Walk, value: Any, limit: int) -> str:
    """The one object that a proxy or view of C code holds; its own methods would call into it."""
    from gc import get_referents  # a built-in module: no import machinery, no cost at start

    held = get_referents(value)
    return walk.text(held[0], limit) if len(held) == 1 else "…"


def _range(walk: Walk, value: Any, cls: type, limit: int) -> str:
    parts = [value.start, value.stop] if value.step == 1 else [value.start, value.stop, value.step]
    return "range(%s)" % ", ".join([walk.text(part, limit // 3) for part in parts])


def _slice(walk: Walk, value: Any, cls: type, limit: int) -> str:
    parts = [walk.text(part, limit // 3) for part in (value.start, value.stop, value.step)]
    return "slice(%s)" % ", ".join(parts)


def _memory(walk: Walk, value: Any, cls: type, limit: int) -> str:
    return "<memory of %d bytes, shape %s>" % (value.nbytes, value.shape)


def _exception(walk: Walk, value: Any, cls: type, limit: int) -> str:
    arguments = read_descriptor(BaseException, "args", value)
    shown = [("", item) for item in arguments]
    shown += [(printable(name) + "=", item) for name, item in fields(value)]
    head = shown[: limit // 3 + 1]
    return walk.join(head, len(shown), None, (class_name(cls) + "(", ")", "details"), limit)


def _enum(walk: Walk, value: Any, cls: type, limit: int) -> str:
    own = instance_dict(value) or {}
    name = own.get("_name_")
    text = walk.text(own.get("_value_"), limit - 30)
    label = "%s.%s" % (class_name(cls), printable(name)) if type(name) is str else class_name(cls)
    return "<%s: %s>" % (label, text)


def _named_tuple(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    names = find_in_class(cls, "_fields")
    size = tuple.__len__(value)
    if type(names) is not tuple or len(names) != size or any(type(name) is not str for name in names):
        return None
    shown = [(name + "=", item) for name, item in zip(names, tuple.__iter__(value))]
    return walk.join(shown, size, None, (class_name(cls) + "(", ")", "fields"), limit)


_EXACT: dict[int, Show] = {
    id(FunctionType): _function,
    id(MethodType): _method,
    id(BuiltinFunctionType): _built_in,
    id(ModuleType): _module,
    id(CodeType): _code,
    id(FrameType): _frame,
    id(GeneratorType): _suspended("generator", "gi"),
    id(CoroutineType): _suspended("coroutine", "cr"),
    id(AsyncGeneratorType): _suspended("async generator", "ag"),
    id(MappingProxyType): _mapping_proxy,
    id(type({}.keys())): _view,
    id(type({}.values())): _view,
    id(type({}.items())): _view,
    id(range): _range,
    id(slice): _slice,
    id(memoryview): _memory,
    id(type(allocate_lock())): library_values.lock_text,
    id(RLock): library_values.lock_text,
    id(array_values.Word): lambda walk, value, cls, limit: str.__str__(value),
}
