"""A program under an engine, for tests that hold for every engine and every Python."""

import textwrap
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp_pdb.backend import Backend
from mcp_pdb.engines import create_backend
from mcp_pdb.launcher import PlainLauncher
from mcp_pdb.records import (
    BreakpointSpec,
    EngineName,
    Exited,
    Outcome,
    ResumeKind,
    Stopped,
    Target,
    TargetKind,
)

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
WAIT_SECONDS = 30


def interpreter_of(version: str) -> str:
    """The interpreter of a target environment; skips where this machine lacks that Python."""
    path = ROOT / ".targets" / f"py{version}" / "bin" / "python"
    if not path.exists():
        pytest.skip(f"Python {version} is not on this machine (make setup makes its target environment)")
    return str(path)


def engines_and_versions() -> list[object]:
    """Both engines on every Python that can be debugged."""
    return [
        pytest.param((engine, version), id=f"{engine}-{version}")
        for engine in ("pdb", "debugpy")
        for version in VERSIONS
    ]


class Program:
    """A debuggee with the words that tests use."""

    def __init__(self, backend: Backend, folder: Path, engine: EngineName, version: str) -> None:
        self.backend = backend
        self.folder = folder
        self.engine = engine
        self.version = tuple(int(part) for part in version.split("."))

    async def begin(self, *, stop_at_entry: bool = False) -> Outcome:
        await self.backend.begin(stop_at_entry=stop_at_entry)
        return await self.backend.wait()

    async def move(self, kind: ResumeKind) -> Stopped:
        outcome = await self.go(kind)
        assert isinstance(outcome, Stopped), f"{kind} ended the program: {outcome}"
        return outcome

    async def go(self, kind: ResumeKind = "continue") -> Outcome:
        await self.backend.resume(kind)
        return await self.backend.wait()

    async def end(self) -> Exited:
        outcome = await self.go("continue")
        assert isinstance(outcome, Exited), f"the program stopped again: {outcome}"
        return outcome

    async def break_at(self, at: str, **options: object):
        return await self.backend.set_breakpoint(BreakpointSpec(at=at, **options))  # type: ignore[arg-type]

    async def value(self, code: str, frame: int = 0) -> str | None:
        answer = await self.backend.evaluate(code, frame=frame, timeout_seconds=5, limit_chars=1000)
        return answer.value if answer.error is None else answer.error

    async def local_values(self, frame: int = 0, name_filter: str | None = None) -> dict[str, str]:
        page = await self.backend.examine_locals(
            frame=frame, name_filter=name_filter, cursor=0, limit_chars=2500
        )
        return {variable.path: variable.value for variable in page.variables}

    def line_of(self, marker: str, file: str = "program.py") -> int:
        """The number of the line that ends with the comment ``# marker``."""
        lines = (self.folder / file).read_text(encoding="utf-8").splitlines()
        found = [number for number, line in enumerate(lines, 1) if line.endswith(f"# {marker}")]
        assert len(found) == 1, f"{marker} marks {len(found)} lines"
        return found[0]

    def output(self) -> str:
        return self.backend.read_output(0, 100_000)[0]


StartProgram = Callable[..., object]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=engines_and_versions())
def engine_and_version(request: pytest.FixtureRequest) -> tuple[EngineName, str]:
    return request.param


@pytest.fixture
def launch(tmp_path: Path, engine_and_version: tuple[EngineName, str]):
    """``async with launch(source, kind=…) as program``: launched, not begun."""
    engine, version = engine_and_version
    interpreter = interpreter_of(version)

    @asynccontextmanager
    async def launched(
        source: str = "",
        *,
        kind: TargetKind = "script",
        target: str | None = None,
        args: tuple[str, ...] = (),
        on_failure: str = "stop",
        files: dict[str, str] | None = None,
    ) -> AsyncGenerator[Program]:
        main = "test_program.py" if kind == "pytest" else "program.py"
        for name, text in {**(files or {}), **({main: source} if source else {})}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        if target is None:
            target = str(tmp_path / main) if kind == "script" else "test_program.py"
        plan = Target(
            kind=kind,
            target=target,
            args=args,
            interpreter=interpreter,
            cwd=str(tmp_path),
            root=str(tmp_path),
            on_failure=on_failure,  # type: ignore[arg-type]
        )
        skipped: BaseException | None = None
        with anyio.fail_after(WAIT_SECONDS):
            async with PlainLauncher() as launcher, anyio.create_task_group() as group:
                backend = create_backend(engine, group)
                try:
                    await backend.launch(plan, launcher)
                    yield Program(backend, tmp_path, engine, version)
                except pytest.skip.Exception as outcome:
                    skipped = outcome
                finally:
                    with anyio.CancelScope(shield=True):
                        await backend.terminate()
                    group.cancel_scope.cancel()
        if skipped is not None:
            # Out of the task group: a group of outcomes would end the test runner's own task, whose
            # traceback is then printed by the garbage collector, in the middle of anything.
            raise skipped

    return launched


def processes_in(folder: Path) -> list[int]:
    """Process ids whose working directory is below ``folder``."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                place = (entry / "cwd").readlink()
            except OSError:
                continue
            if place.is_relative_to(folder):
                found.append(int(entry.name))
    return found
