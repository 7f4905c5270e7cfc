"""Tables and tensors; numpy's arrays are among the well-known types of test_safe_repr."""

import sys
import types
from typing import Any

import pytest
from mcp_pdb.debuggee.inspector import describe_value
from mcp_pdb.debuggee.safe_repr import fingerprint, summarize


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas", reason="pandas is no dependency; install it to check tables")


def test_a_table_shows_its_columns(pandas):
    table = pandas.DataFrame({"a": [1, 2], "b": [0.5, None]})
    assert summarize(table) == "DataFrame(2 rows × 2 columns, {'a': int64, 'b': float64})"
    page = describe_value({"table": table}, {}, "table")
    assert [(child["path"], child["value"]) for child in page["variables"]] == [
        ("table['a']", "Series(2, dtype=int64, [1, 2])"),
        ("table['b']", "Series(2, dtype=float64, [0.5, nan])"),
    ]
    assert describe_value({"table": table}, {}, "table['a'][1]")["heading"] == "np.int64(2)"


def test_a_change_inside_a_table_is_noticed(pandas):
    table = pandas.DataFrame({"a": [1, 2]})
    before = fingerprint(table)
    table.loc[1, "a"] = 9
    assert fingerprint(table) != before


def test_scalars_of_a_table_show_themselves(pandas):
    assert summarize(pandas.Timestamp("2024-01-01")) == "Timestamp('2024-01-01 00:00:00')"
    assert summarize(pandas.NaT) == "NaT"


class Tensor:
    """Answers like ``torch.Tensor``, which is too big to install for a test."""

    dtype = "torch.float32"
    layout = "torch.strided"
    requires_grad = True
    _version = 0

    def __init__(self, values: list[float], device: str = "cpu"):
        self.values = values
        self.shape = (len(values),)
        self.device = types.SimpleNamespace(type=device)

    def numel(self):
        return len(self.values)

    def detach(self):
        return self

    def reshape(self, _: int):
        return self

    def tolist(self):
        return self.values

    def data_ptr(self):
        return 1

    def item(self):
        return self.values[0]

    def __getitem__(self, index: Any):
        return Tensor(self.values[index] if isinstance(index, slice) else [self.values[index]])


@pytest.fixture
def tensor_type(monkeypatch):
    torch = types.ModuleType("torch")
    torch.Tensor = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(Tensor, "__module__", "torch")
    return Tensor


def test_a_tensor_shows_shape_dtype_and_values(tensor_type):
    text = summarize(tensor_type([1.0, 2.0]))
    assert text == "Tensor(shape=(2,), dtype=float32, requires_grad, [1.0, 2.0])"


def test_a_tensor_on_a_device_is_not_copied_to_be_shown(tensor_type):
    assert summarize(tensor_type([1.0], "cuda")).startswith("Tensor(shape=(1,), dtype=float32, device=")


def test_changes_of_a_big_tensor_are_counted_by_the_library(tensor_type):
    tensor = tensor_type([1.0] * 1000)
    before = fingerprint(tensor)
    tensor._version = 1
    assert fingerprint(tensor) != before


def test_a_tensor_of_no_library_is_shown_by_its_attributes():
    assert summarize(Tensor([1.0])).startswith("Tensor(values=[1.0], shape=(1,), ")
