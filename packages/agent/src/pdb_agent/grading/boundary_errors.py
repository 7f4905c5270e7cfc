"""Exceptions across the boundary: by name, so that ``except`` and ``pytest.raises`` find them.

Stand-alone: standard library only, Python 3.10 and later; both sides load it.
"""

import builtins
import importlib
from typing import Any

_NAMES_LIMIT = 20
_MODULES = frozenset(
    {
        "_csv",
        "_queue",
        "asyncio.exceptions",
        "binascii",
        "concurrent.futures._base",
        "configparser",
        "dataclasses",
        "decimal",
        "json.decoder",
        "queue",
        "struct",
        "threading",
    }
)
"""Modules of the standard library whose exceptions stay themselves; loading one does nothing else."""


def describe(kind: type[BaseException], depth: int = 0) -> dict[str, Any]:
    """A class as ``{"name": "module.Name", "bases": [...]}``; standard ones have no bases."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if standard_class(name) is kind or depth > _NAMES_LIMIT:
        return {"name": name}
    bases = [describe(base, depth + 1) for base in kind.__bases__ if issubclass(base, BaseException)]
    return {"name": name, "bases": bases}


def standard_class(name: str) -> type[BaseException] | None:
    """The exception class of that name in builtins or another of the modules known here."""
    module, _, attribute = name.rpartition(".")
    if module == "builtins":
        found = getattr(builtins, attribute, None)
    elif module in _MODULES:
        found = getattr(importlib.import_module(module), attribute, None)
    else:
        return None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None
