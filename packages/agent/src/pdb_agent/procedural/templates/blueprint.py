"""What a template makes of its parameters, and how that becomes a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from pdb_agent.patch_making import make_patch
from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates.domains import Domain, draw_domain
from pdb_agent.procedural.templates.layers import MOST_LAYERS, Method, Stack, build_stack
from pdb_agent.reach import measure_reach
from pdb_agent.task import Patch, Preference, Split, Task, TaskLimits, Witness, WitnessStop, WitnessValue
from pdb_agent.task_schema import difficulty_of

_CORES = ("stock", "store", "register", "ledger", "depot", "archive")
_OPTIONAL_REASON = "Two short files that can be read at once; the value at the stop still settles it."
_MOST_FILES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A piece of a file, which occurs once, and what stands there instead."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoy:
    """A change of the defective core that passes all visible tests and does not do."""

    name: str
    reason: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A place in the core where the cause can be seen."""

    function: str
    hit: int
    expression: str
    buggy: str
    fixed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """An instance of a template; texts are whole, with ``$``-words for what ``Setting.words`` has."""

    family: str
    summary: str
    """What the program does, for its README."""
    reason: str
    """Why a debugger helps."""
    fix_size: int
    """Points of the rubric."""
    methods: tuple[Method, ...]
    made: str
    """How the core is made, such as ``$Core(3)``."""
    core: str
    """The module that matters, right."""
    more: Mapping[str, str]
    """Further modules, by name."""
    defect: Change
    decoys: tuple[Decoy, ...]
    visible: str
    """The visible tests without imports; they call ``open_front()``."""
    hidden: str
    test_imports: tuple[str, ...] = ()
    """Public names of the core that tests use."""
    target: str
    """The visible test that fails."""
    stop: Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The parameters that all templates have."""

    domain: Domain
    core: str
    """Name of the module that matters."""
    layers: int

    def words(self) -> dict[str, str]:
        """What ``$``-words stand for."""
        return self.domain.words() | {"core": self.core, "Core": self.core.capitalize()}


def draw_setting(draw: Draw, *, most_layers: int = MOST_LAYERS) -> Setting:
    """A trade, the name of the core, and how many layers lie over it."""
    return Setting(domain=draw_domain(draw), core=draw.pick(_CORES), layers=draw.number(1, most_layers))


def assemble(
    blueprint: Blueprint, setting: Setting, draw: Draw, group: str, number: int, split: Split
) -> Task:
    """The task of an instance, not yet checked."""
    words = setting.words()
    package = setting.domain.package
    stack = build_stack(
        draw,
        package,
        (setting.core, words["Core"], _filled(blueprint.made, words)),
        [_filled_method(method, words) for method in blueprint.methods],
        setting.layers,
    )
    core_path = f"{package}/{setting.core}.py"
    right = _filled(blueprint.core, words)
    defective = _changed(right, _filled_change(blueprint.defect, words))
    workspace = _workspace(blueprint, setting, stack) | {core_path: defective.encode()}
    module = f"tests/test_{stack.front}.py"
    names = _test_names(workspace[module].decode())
    target = f"{module}::{blueprint.target}"
    reach = measure_reach(workspace, target)
    points = _points(blueprint, setting)
    is_recommended = setting.layers > 1
    return Task(
        id=f"{group}_{number:04d}",
        version=1,
        group=group,
        family=blueprint.family,
        preference=Preference.RECOMMENDED if is_recommended else Preference.OPTIONAL,
        preference_reason=_filled(blueprint.reason, words) if is_recommended else _OPTIONAL_REASON,
        difficulty=difficulty_of(sum(points.values())),
        difficulty_points=points,
        split=split,
        python_min="3.10",
        python_max="3.13",
        target=target,
        fail_to_pass=(target,),
        pass_to_pass=tuple(f"{module}::{name}" for name in names if name != blueprint.target),
        editable=(f"{package}/*.py",),
        limits=TaskLimits(),
        source_lines=reach.lines,
        source_files=reach.files,
        licence="MIT",
        content_hash="",
        workspace=dict(sorted(workspace.items())),
        hidden={f"test_more_{stack.front}.py": _tests(blueprint, setting, stack, blueprint.hidden)},
        solution=make_patch("fix", {core_path: defective.encode()}, {core_path: right.encode()}),
        decoys=tuple(
            _decoy(decoy, core_path, defective, words)
            for decoy in sorted(blueprint.decoys, key=lambda decoy: decoy.name)
        ),
        witness=_witness(blueprint.stop, core_path, target, words),
        folder=Path(f"{group}_{number:04d}"),
    )


def _workspace(blueprint: Blueprint, setting: Setting, stack: Stack) -> dict[str, bytes]:
    words, package = setting.words(), setting.domain.package
    summary = _filled(blueprint.summary, words)
    files = {
        "README.md": f"# {package}\n\n{summary}\n\nRun its tests with `python -m pytest`.\n",
        "pytest.ini": "[pytest]\npythonpath = .\ntestpaths = tests\n",
        f"{package}/__init__.py": "",
        **stack.sources,
        **{f"{package}/{name}.py": _filled(text, words) for name, text in blueprint.more.items()},
    }
    encoded = {path: text.encode() for path, text in files.items()}
    return encoded | {f"tests/test_{stack.front}.py": _tests(blueprint, setting, stack, blueprint.visible)}


def _tests(blueprint: Blueprint, setting: Setting, stack: Stack, tests: str) -> bytes:
    package = setting.domain.package
    imports = [f"from {package}.{stack.front} import open_{stack.front}\n"]
    used = [name for name in blueprint.test_imports if name in tests]
    if used:
        imports.append(f"from {package}.{setting.core} import {', '.join(used)}\n")
    head = ("import pytest\n\n" if "pytest." in tests else "") + "".join(sorted(imports))
    text = _filled(tests, setting.words()).strip("\n").replace("open_front()", f"open_{stack.front}()")
    return f"{head}\n\n{text}\n".encode()


def _points(blueprint: Blueprint, setting: Setting) -> dict[str, int]:
    files = min(_MOST_FILES, 1 + setting.layers)
    return {
        "files": files,
        "distance": 2,
        "decoys": 0,
        "fix_size": blueprint.fix_size,
        "obvious_wrong_fix": 1,
    }


def _decoy(decoy: Decoy, path: str, defective: str, words: Mapping[str, str]) -> Patch:
    text = defective
    for change in decoy.changes:
        text = _changed(text, _filled_change(change, words))
    return make_patch(
        decoy.name, {path: defective.encode()}, {path: text.encode()}, reason=_filled(decoy.reason, words)
    )


def _witness(stop: Stop, path: str, target: str, words: Mapping[str, str]) -> Witness:
    value = WitnessValue(expression=stop.expression, buggy=stop.buggy, fixed=stop.fixed)
    place = WitnessStop(
        file=path,
        function=_filled(stop.function, words),
        line=None,
        condition=None,
        hit=stop.hit,
        values=(value,),
    )
    return Witness(target=target, stops=(place,))


def _changed(text: str, change: Change) -> str:
    before, found, after = text.partition(change.old)
    if not found or change.old in after:
        raise AssertionError(f"{change.old!r} does not occur once")
    return before + change.new + after


def _filled(text: str, words: Mapping[str, str]) -> str:
    return Template(text).substitute(words)


def _filled_change(change: Change, words: Mapping[str, str]) -> Change:
    return Change(old=_filled(change.old, words), new=_filled(change.new, words))


def _filled_method(method: Method, words: Mapping[str, str]) -> Method:
    return Method(
        name=method.name,
        parameters=method.parameters,
        returns=method.returns,
        summary=_filled(method.summary, words),
    )


def _test_names(module: str) -> list[str]:
    return [line[4 : line.index("(")] for line in module.splitlines() if line.startswith("def test_")]
