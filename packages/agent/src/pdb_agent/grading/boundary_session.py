"""The tests' side of a run across the boundary: the program's packages, and pytest with a reporter.

Stand-alone: standard library and pytest only, Python 3.10 and later.
"""

import builtins
import gc
import importlib.abc
import importlib.machinery
import socket
import sys
import types
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pdb_agent.grading.boundary_exports import Exports
from pdb_agent.grading.boundary_line import Line
from pdb_agent.grading.boundary_proxies import Gate, Proxy
from pdb_agent.grading.boundary_wire import Wire
from pdb_agent.grading.pytest_run import pytest_arguments

Report = Callable[[dict[str, Any]], None]
_OPEN_NAMES = frozenset({"__version__", "__all__", "__doc__"})


def prepared(
    channel: socket.socket, report: Report, tests: str, roots: str, call_seconds: str, *files: str
) -> Callable[[], None]:
    """Meet the candidate's process and return what runs the tests. Raises when it does not answer."""
    served = frozenset(roots.split(","))

    def is_served(name: str) -> bool:
        return name.partition(".")[0] in served

    is_test_module = _tells_test_modules(Path(tests))
    gate = Gate(Exports(is_test_module, is_served), float(call_seconds))
    gate.line = Line(Wire(channel), opens_even=True, handle=gate.handle_call)
    gate.line.start()
    gate.request("hello")
    sys.meta_path.insert(0, _ProgramFinder(gate, is_served))
    _serve_stand_ins(_stand_in_modules(gate), is_test_module)
    arguments = pytest_arguments(tests, list(files))

    def run() -> None:
        report({"started": pytest.__version__})
        pytest.main(arguments, plugins=[_Reporter(report, gate)])

    return run


class _ProgramModule(types.ModuleType):
    """A module of the candidate; its names are asked for whenever they are used."""

    def __init__(self, name: str, gate: Gate) -> None:
        super().__init__(name)
        vars(self).update(_boundary_gate=gate, _boundary_replaced={})

    def __getattr__(self, name: str) -> Any:
        if (name.startswith("__") and name not in _OPEN_NAMES) or name.startswith(("pytest", "_pytest")):
            raise AttributeError(name)
        return vars(self)["_boundary_gate"].request("module_get", self.__name__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") or isinstance(value, types.ModuleType):
            super().__setattr__(name, value)  # the import system's own notes
            return
        replaced: dict[str, Any] = vars(self)["_boundary_replaced"]
        if name not in replaced and hasattr(self, name):
            replaced[name] = getattr(self, name)
        vars(self)["_boundary_gate"].request("module_set", self.__name__, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete a name; one that was replaced gets its value back, for that is how pytest undoes a patch."""
        gate: Gate = vars(self)["_boundary_gate"]
        replaced: dict[str, Any] = vars(self)["_boundary_replaced"]
        if name in replaced:
            gate.request("module_set", self.__name__, name, replaced.pop(name))
        else:
            gate.request("module_del", self.__name__, name)


class _ProgramFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the candidate's packages in its own process, and stands modules for them here."""

    def __init__(self, gate: Gate, is_served: Callable[[str], bool]) -> None:
        self._gate = gate
        self._is_served = is_served

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not self._is_served(fullname):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _ProgramModule(spec.name, self._gate)

    def exec_module(self, module: types.ModuleType) -> None:
        try:
            self._gate.request("import", module.__name__)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(str(error), name=module.__name__) from None
        except SystemExit:
            raise ImportError("The program ended itself while it was imported.") from None


class _Reporter:
    """A plugin that reports each phase of each test, and the end."""

    def __init__(self, report: Report, gate: Gate) -> None:
        self._report = report
        self._gate = gate
        self._collection_errors = 0

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._collection_errors += report.failed

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        outcome = yield
        self._report(
            {
                "test": item.nodeid,
                "when": call.when,
                "outcome": outcome.outcome,
                "expected_failure": hasattr(outcome, "wasxfail"),
                "by_assertion": call.excinfo is not None and call.excinfo.errisinstance(AssertionError),
            }
        )
        return outcome

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        fault, errors = self._gate.line.fault, self._collection_errors
        self._report({"finish": int(exitstatus), "fault": fault, "collection_errors": errors})

    @pytest.fixture
    def tmp_path(self, tmp_path: Path) -> Path:
        """A folder at the same path on both sides; what one side writes there only that side sees."""
        self._gate.request("make_folder", str(tmp_path))
        return tmp_path


def _tells_test_modules(tests: Path) -> Callable[[str], bool]:
    def is_test_module(name: str) -> bool:
        module = sys.modules.get(name)
        if module is None or isinstance(module, _ProgramModule):
            return False
        path = getattr(module, "__file__", None)
        return isinstance(path, str) and Path(path).is_relative_to(tests)

    return is_test_module


def _stand_in_modules(gate: Gate) -> dict[str, types.ModuleType]:
    """What test modules get for ``gc`` and ``weakref``: they work where the program's objects are.

    Of ``weakref`` only ``ref`` is there: what else it has would watch a proxy, not the object.
    """

    def collect(generation: int = 2) -> int:
        found = gc.collect(generation)
        gate.request("collect")
        return found

    def reference(target: Any, *callback: Any) -> Any:
        if type(target) is Proxy:
            return gate.request("weakref", target, *callback)
        return weakref.ref(target, *callback)

    collector, references = types.ModuleType("gc"), types.ModuleType("weakref")
    vars(collector).update(vars(gc), collect=collect)
    vars(references).update(ref=reference)
    return {"gc": collector, "weakref": references}


def _serve_stand_ins(stand_ins: dict[str, types.ModuleType], is_test_module: Callable[[str], bool]) -> None:
    """Give test modules, and no others, the stand-ins when they import those names."""
    import_normally = builtins.__import__

    def import_module(
        name: str,
        caller: Mapping[str, Any] | None = None,
        names: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        if name in stand_ins and caller is not None and is_test_module(str(caller.get("__name__"))):
            return stand_ins[name]
        return import_normally(name, caller, names, fromlist, level)

    builtins.__import__ = import_module
