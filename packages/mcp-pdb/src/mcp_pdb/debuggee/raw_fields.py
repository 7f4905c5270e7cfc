"""Reads objects without running any code of theirs.

Everything here goes through the descriptors of ``type`` and ``object``
themselves, so a class cannot answer in its own way: no ``__getattr__``, no
``__getattribute__``, no property, no ``__class__`` in disguise, no metaclass.
``isinstance`` is avoided on purpose (it reads ``value.__class__``);
``issubclass(type(value), builtin)`` only walks the method resolution order.
"""

from __future__ import annotations

import sys
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Mapping

_read_name = type.__dict__["__name__"].__get__
_read_qualname = type.__dict__["__qualname__"].__get__
_read_module = type.__dict__["__module__"].__get__
_read_mro = type.__dict__["__mro__"].__get__
_read_class_dict = type.__dict__["__dict__"].__get__
_read_module_dict = type.__getattribute__(ModuleType, "__dict__")["__dict__"].__get__

_ATTEMPTS = 8
_C_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)
MISSING: Any = type("Missing", (), {"__doc__": "No value: unset, deleted or not found."})()


def is_any_of(cls: type, kinds: tuple[type, ...]) -> bool:
    """Membership by identity: ``in`` would ask a metaclass's ``__eq__``."""
    for kind in kinds:  # noqa: SIM110 - any() would cost a generator on the path of every value
        if cls is kind:
            return True
    return False


def class_name(cls: type) -> str:
    """The bare name, made printable."""
    return printable(_read_name(cls))


def class_qualname(cls: type) -> str:
    """The qualified name, made printable."""
    return printable(_read_qualname(cls))


def class_module(cls: type) -> str:
    """The module's name, or "" where a class has hidden it."""
    try:
        module = _read_module(cls)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def class_mro(cls: type) -> tuple[type, ...]:
    """The method resolution order; for a class that is only being made, the class alone."""
    return _read_mro(cls) or (cls,)


def class_namespace(cls: type) -> Mapping[str, Any]:
    """The class's own attributes, unbound."""
    return _read_class_dict(cls) or {}


def module_namespace(module: ModuleType) -> dict[str, Any]:
    """A module's globals, also for subclasses of ModuleType that load lazily."""
    return _read_module_dict(module) or {}


def loaded(module_name: str, attribute: str) -> Any:
    """An attribute of a module that the program has imported already, else MISSING."""
    module = sys.modules.get(module_name)
    if module is None or not issubclass(type(module), ModuleType):
        return MISSING
    return module_namespace(module).get(attribute, MISSING)


def find_in_class(cls: type, name: str) -> Any:
    """What the class (or a base) defines under ``name``, unbound, else MISSING."""
    for base in class_mro(cls):
        found = class_namespace(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def instance_dict(value: object) -> dict[Any, Any] | None:
    """The object's own ``__dict__``, or None where it has none."""
    cls = type(value)
    for base in class_mro(cls):
        descriptor: Any = class_namespace(base).get("__dict__")
        if is_any_of(type(descriptor), _C_DESCRIPTORS) and base is not type:
            try:
                found = descriptor.__get__(value, cls)
            except (AttributeError, TypeError):
                return None
            return found if issubclass(type(found), dict) else None
    return None


def slot_items(value: object) -> Iterator[tuple[str, Any]]:
    """The set slots of Python classes, base classes first."""
    cls = type(value)
    for base in reversed(class_mro(cls)):
        namespace = class_namespace(base)
        if "__slots__" not in namespace:
            continue
        for name in _slot_names(namespace, base):
            descriptor = namespace.get(name)
            if type(descriptor) is MemberDescriptorType:
                try:
                    yield name, descriptor.__get__(value, cls)
                except AttributeError:
                    continue


def _slot_names(namespace: Mapping[str, Any], cls: type) -> list[str]:
    """The names in the order written, or the class's own order where ``__slots__`` is used up."""
    written = namespace["__slots__"]
    if type(written) is str:
        written = (written,)
    if not is_any_of(type(written), (tuple, list)) or any(type(name) is not str for name in written):
        return list(namespace)
    prefix = "_" + _read_name(cls).lstrip("_")
    return [prefix + name if name[:2] == "__" and name[-2:] != "__" else name for name in written]


def fields(value: object) -> list[tuple[str, Any]]:
    """The object's set attributes in definition order: slots, then ``__dict__``.

    Private bookkeeping (dunder names, such as pydantic's slots) is left out,
    except that pydantic's extra fields are merged in.
    """
    found: list[tuple[str, Any]] = []
    for name, item in slot_items(value):
        if name == "__pydantic_extra__" and type(item) is dict:
            found.extend((key, extra) for key, extra in item.items() if type(key) is str)
        elif not is_dunder(name):
            found.append((name, item))
    own = instance_dict(value)
    if own:
        found.extend(
            (name, item) for name, item in list(dict.items(own)) if type(name) is str and not is_dunder(name)
        )
    return found


def read_descriptor(owner: type, name: str, value: object) -> Any:
    """The attribute that built-in ``owner`` defines, read past any override; MISSING if unset."""
    descriptor: Any = class_namespace(owner).get(name)
    if not is_any_of(type(descriptor), _C_DESCRIPTORS):
        return MISSING
    try:
        return descriptor.__get__(value, type(value))
    except Exception:  # C code may raise anything for an object that was never initialised
        return MISSING


def steadily(read: Callable[..., Any], *arguments: Any) -> Any:
    """``read(*arguments)``, again if another thread changed a container while it was walked."""
    for _ in range(_ATTEMPTS):
        try:
            return read(*arguments)
        except RecursionError:
            raise
        except RuntimeError:
            continue
    return read(*arguments)


def is_dunder(name: str) -> bool:
    """True for ``__name__``."""
    return name[:2] == "__" and name[-2:] == "__"


def printable(text: str) -> str:
    """The text with lone surrogates, newlines and control characters escaped."""
    if str.isprintable(text):
        return text
    return str.__repr__(text)[1:-1]
