"""Summaries of arrays, tables and tensors: shape, dtype and a few values.

Only methods of the library's own classes are called; of a subclass that the
program wrote, what the base class's descriptors hold is shown, or its attributes.
"""

from __future__ import annotations

from .raw_fields import (
    class_module,
    class_name,
    loaded,
    read_descriptor,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .safe_repr import Walk

    Show = Callable[[Walk, Any, type, int], "str | None"]


class Word(str):
    """Text that is shown without quotes."""

    __slots__ = ()


def is_library_class(cls: type, package: str) -> bool:
    """True for a class of the library itself: its methods may be called, a subclass's may not."""
    module = class_module(cls)
    return module.partition(".")[0] == package and loaded(module, class_name(cls)) is cls


def _array_array(walk: Walk, value: Any, cls: type, limit: int) -> str:
    base = loaded("array", "array")
    size = base.__len__(value)
    head = [("", item) for item in base.__getitem__(value, slice(0, limit // 3 + 1))]
    tail = ("", base.__getitem__(value, -1)) if size > len(head) else None
    code = read_descriptor(base, "typecode", value)
    return walk.join(head, size, tail, ("array(%r, [" % code, "])", "items"), limit)


def _numpy_array(walk: Walk, value: Any, cls: type, limit: int) -> str:
    base = loaded("numpy", "ndarray")
    shape = read_descriptor(base, "shape", value)
    size = read_descriptor(base, "size", value)
    opening = "%s(shape=%s, dtype=%s" % (class_name(cls), shape, read_descriptor(base, "dtype", value))
    if not size:
        return opening + ")"
    if len(shape) > 1 and size <= 64 and limit > 60 + 4 * size:
        return "%s, %s)" % (opening, walk.text(base.tolist(value), limit - len(opening) - 3))
    count = min(size, max((limit - len(opening)) // 8, 3))
    head = [("", base.item(value, index)) for index in range(count)]
    tail = ("", base.item(value, size - 1)) if size > count else None
    return walk.join(head, size, tail, (opening + ", [", "])", "values"), limit)


def _numpy_scalar(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    if not class_module(cls).startswith("numpy") or class_name(cls) == "void":
        return None
    base = loaded("numpy", "generic")
    held = base.item(value)
    return "np.%s(%s)" % (class_name(cls), walk.text(held, limit - 20) if type(held) is not cls else "…")


def _data_frame(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    if not is_library_class(cls, "pandas"):
        return None
    rows, columns = value.shape
    opening = "%s(%d rows × %d columns" % (class_name(cls), rows, columns)
    kinds = [str(kind) for kind in value.dtypes.tolist()[:40]]
    names = value.columns.tolist()[:40]
    head = [(walk.text(name, 30) + ": ", Word(kind)) for name, kind in zip(names, kinds)]
    return walk.join(head, columns, None, (opening + ", {", "})", "columns"), limit)


def _series(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    if not is_library_class(cls, "pandas"):
        return None
    size = value.shape[0]
    opening = "%s(%d, dtype=%s, [" % (class_name(cls), size, value.dtype)
    take = value if class_name(cls) != "Series" else value.iloc
    head = [("", item) for item in take[: min(size, max(limit // 8, 3))].tolist()]
    tail = ("", take[-1:].tolist()[0]) if size > len(head) else None
    return walk.join(head, size, tail, (opening, "])", "values"), limit)


def _tensor(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    if not is_library_class(cls, "torch"):
        return None
    parts = "%s(shape=%s, dtype=%s" % (
        class_name(cls),
        tuple(value.shape),
        str(value.dtype).replace("torch.", ""),
    )
    if value.device.type != "cpu":
        parts += ", device=%s" % value.device
    if value.requires_grad:
        parts += ", requires_grad"
    size = value.numel()
    if value.device.type != "cpu" or str(value.layout) != "torch.strided" or not size:
        return parts + ")"
    flat = value.detach().reshape(-1)
    head = [("", item) for item in flat[: min(size, max(limit // 10, 3))].tolist()]
    tail = ("", flat[-1].item()) if size > len(head) else None
    return walk.join(head, size, tail, (parts + ", [", "])", "values"), limit)


def _scalar(walk: Walk, value: Any, cls: type, limit: int) -> str | None:
    """A moment, period or missing value of pandas, or a dtype of numpy: its own repr, on one line."""
    if class_module(cls).partition(".")[0] not in ("pandas", "numpy"):
        return None
    return " ".join(repr(value).split())


_PANDAS_SCALARS = {
    "Timestamp": "pandas._libs.tslibs.timestamps",
    "Timedelta": "pandas._libs.tslibs.timedeltas",
    "NaTType": "pandas._libs.tslibs.nattype",
    "NAType": "pandas._libs.missing",
    "Period": "pandas._libs.tslibs.period",
    "Interval": "pandas._libs.interval",
}
ARRAYS: dict[tuple[str, str], Show] = {
    ("array", "array"): _array_array,
    ("numpy", "ndarray"): _numpy_array,
    ("numpy", "generic"): _numpy_scalar,
    ("numpy", "dtype"): _scalar,
    ("pandas.core.frame", "DataFrame"): _data_frame,
    ("pandas", "DataFrame"): _data_frame,
    ("pandas.core.series", "Series"): _series,
    ("pandas", "Series"): _series,
    ("pandas.core.indexes.base", "Index"): _series,
    ("pandas", "Index"): _series,
    ("torch", "Tensor"): _tensor,
}
ARRAYS.update({(module, name): _scalar for name, module in _PANDAS_SCALARS.items()})
ARRAYS.update(
    {(module, name): _scalar for name in _PANDAS_SCALARS for module in ("pandas", "pandas.api.typing")}
)
