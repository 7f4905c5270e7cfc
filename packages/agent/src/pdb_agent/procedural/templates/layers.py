"""Classes between the tests and the part of a program that matters: each forwards to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template

from pdb_agent.procedural.draw import Draw

MOST_LAYERS = 3
_FRONTS = ("office", "counter", "desk", "service", "window", "bureau")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """What all layers offer."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()
    """Names and types."""
    returns: str = "None"
    summary: str
    """The first line of its docstring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The layers, outermost first."""

    front: str
    """Module of the outermost; it has a function ``open_<front>``."""
    sources: Mapping[str, str]
    """Path to text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    module: str
    title: str
    summary: str
    start: str
    """Lines of the constructor, after the one that keeps the inner layer."""
    before: str
    """A line of each method ahead of the call; ``$name`` is the method's."""
    more: str


_MIDDLE = (
    _Kind(
        module="journal",
        title="Journal",
        summary="Notes which questions came, and passes them on.",
        start="        self._asked: list[str] = []\n",
        before='        self._asked.append("$name")\n',
        more='''
    def asked(self) -> list[str]:
        """What came so far, in order."""
        return list(self._asked)
''',
    ),
    _Kind(
        module="gate",
        title="Gate",
        summary="Passes questions on until it is shut.",
        start="        self._is_shut = False\n",
        before="        self._demand_open()\n",
        more='''
    def shut(self) -> None:
        """Let nothing pass any more."""
        self._is_shut = True

    def _demand_open(self) -> None:
        if self._is_shut:
            raise RuntimeError("The gate is shut.")
''',
    ),
    _Kind(
        module="meter",
        title="Meter",
        summary="Counts what passes, by kind.",
        start="        self._passed: dict[str, int] = {}\n",
        before='        self._passed["$name"] = self._passed.get("$name", 0) + 1\n',
        more='''
    def passed(self, kind: str) -> int:
        """How often one kind of question passed."""
        return self._passed.get(kind, 0)
''',
    ),
)


def build_stack(
    draw: Draw, package: str, core: tuple[str, str, str], methods: Sequence[Method], count: int
) -> Stack:
    """``count`` layers (1 to 3) over a class; ``core`` is its module, its name and how to make one."""
    module, inner, made = core
    sources: dict[str, str] = {}
    imports = [f"from {package}.{module} import {inner}\n"]
    for kind in draw.several(_MIDDLE, count - 1):
        sources[f"{package}/{kind.module}.py"] = _middle(kind, package, (module, inner), methods)
        module, inner, made = kind.module, kind.title, f"{kind.title}({made})"
        imports.append(f"from {package}.{module} import {inner}\n")
    front = draw.pick(_FRONTS)
    text = (
        f'"""What the rest of the {package} talks to."""\n\n{_typing(methods)}{"".join(sorted(imports))}\n\n'
        f'class {front.capitalize()}:\n    """Answers for the {package}."""\n\n'
        f"    def __init__(self, inner: {inner}) -> None:\n        self._inner = inner\n"
        + "".join(_forward(method, "", documented=True) for method in methods)
        + f'\n\ndef open_{front}() -> {front.capitalize()}:\n    """A new {front} with nothing in it."""\n'
        f"    return {front.capitalize()}({made})\n"
    )
    return Stack(front=front, sources={f"{package}/{front}.py": text} | sources)


def _middle(kind: _Kind, package: str, inner: tuple[str, str], methods: Sequence[Method]) -> str:
    module, title = inner
    return (
        f'"""{kind.summary}"""\n\n{_typing(methods)}from {package}.{module} import {title}\n\n\n'
        f'class {kind.title}:\n    """{kind.summary}"""\n\n'
        f"    def __init__(self, inner: {title}) -> None:\n        self._inner = inner\n{kind.start}"
        + "".join(_forward(method, kind.before, documented=False) for method in methods)
        + kind.more
    )


def _forward(method: Method, before: str, *, documented: bool) -> str:
    parameters = "".join(f", {name}: {kind}" for name, kind in method.parameters)
    arguments = ", ".join(name for name, _ in method.parameters)
    answer = "" if method.returns == "None" else "return "
    docstring = f'        """{method.summary}"""\n' if documented else ""
    return (
        f"\n    def {method.name}(self{parameters}) -> {method.returns}:\n{docstring}"
        f"{Template(before).substitute(name=method.name)}"
        f"        {answer}self._inner.{method.name}({arguments})\n"
    )


def _typing(methods: Sequence[Method]) -> str:
    kinds = {kind for method in methods for _, kind in method.parameters}
    is_needed = any(kind.startswith("Callable") for kind in kinds)
    return "from collections.abc import Callable\n\n" if is_needed else ""
