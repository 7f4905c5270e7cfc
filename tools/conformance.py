"""Judge the server by the protocol's own conformance suite and by the Inspector: ``make conformance``.

Three judgements, each on a server of its own:

1. the real server over HTTP, on every scenario that needs no fixtures;
2. the same server with the fixtures of ``tests/conformance`` laid over it, on
   every scenario of both revisions of the protocol;
3. the Inspector: the list of tools under ``--strict``, every tool called over
   stdio, and a whole debugging session over HTTP.

A failure or a warning of any check fails the command: none is expected.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.node_packages import CONFORMANCE, INSPECTOR, fetched, node, node_environment  # noqa: E402  # needs the path

REVISIONS = ("2025-11-25", "2026-07-28")
WITHOUT_FIXTURES = {
    "2025-11-25": (
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
    ),
}
CART = ROOT / "tests" / "programs" / "cart"
SESSION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("start_debugger", {"target": "test_cart.py::test_total"}),
    ("add_breakpoint", {"at": "cart.py:5"}),
    ("continue_execution", {}),
    ("step_over", {}),
    ("step_into", {}),
    ("where_am_i", {}),
    ("examine_locals", {}),
    ("print_variable", {"path": "prices"}),
    ("run_expression", {"code": "price - discount"}),
    ("remove_breakpoint", {"id": "all"}),
    ("step_out", {}),
    ("stop_debugger", {}),
)
IS_ERROR = 5
"""The Inspector's exit status for a tool that answered with an error."""

Command = Sequence[str]


class JudgementError(Exception):
    """A check failed; the text says which."""


def main() -> None:
    """Run the three judgements and print one line for each part."""
    suite = (
        fetched("conformance", CONFORMANCE) / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    )
    inspector = fetched("inspector", INSPECTOR) / ".bin" / "mcp-inspector"
    with served("mcp_pdb.cli", "serve", "--http", "127.0.0.1:0") as url:
        for revision, scenarios in WITHOUT_FIXTURES.items():
            checks = [
                check for name in scenarios for check in judged(suite, url, revision, "--scenario", name)
            ]
            report(f"without fixtures, {revision}", checks)
    with served("tests.conformance.serve") as url:
        for revision in REVISIONS:
            report(f"every scenario, {revision}", judged(suite, url, revision, "--suite", "all"))
    with tempfile.TemporaryDirectory() as folder:
        inspect(inspector, Path(shutil.copytree(CART, folder, dirs_exist_ok=True)))


@contextmanager
def served(*module: str) -> Generator[str]:
    """Run ``python -m module`` until the block ends; it prints its address on standard error."""
    command = [sys.executable, "-m", *module]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield address_of(process)
        finally:
            process.terminate()
            process.communicate(timeout=20)


def address_of(process: subprocess.Popen[str]) -> str:
    """The first URL in what a server says on standard error."""
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        for word in line.split():
            if word.startswith("http://"):
                return word.rstrip(".,)")
    raise JudgementError("the server ended before it said where it listens:\n" + "".join(said))


def judged(suite: Path, url: str, revision: str, *selection: str) -> list[dict[str, Any]]:
    """Every check of the selected scenarios, as the suite recorded them."""
    with tempfile.TemporaryDirectory() as results:
        command = [
            node(),
            str(suite),
            "server",
            "--url",
            url,
            "--spec-version",
            revision,
            *selection,
            "-o",
            results,
        ]
        finished = subprocess.run(
            command, env=node_environment(), capture_output=True, text=True, check=False
        )
        checks = [
            check | {"scenario": file.parent.name.split("-20")[0]}
            for file in sorted(Path(results).glob("*/checks.json"))
            for check in json.loads(file.read_text(encoding="utf-8"))
        ]
    if not checks:
        raise JudgementError(
            f"{revision} {selection}: nothing was checked\n{finished.stdout}{finished.stderr}"
        )
    return checks


def report(title: str, checks: list[dict[str, Any]]) -> None:
    """Print how many passed. Raises JudgementError when one failed or warned."""
    bad = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    print(f"{title}: {passed} passed, {len(bad)} failed", flush=True)
    if bad:
        lines = [f"  {check['scenario']} {check['id']}: {check.get('errorMessage')}" for check in bad]
        raise JudgementError("\n".join([title, *lines]))


def inspect(inspector: Path, project: Path) -> None:
    """List strictly and call every tool over stdio, then hold a session over HTTP."""
    serve = [sys.executable, "-m", "mcp_pdb.cli", "serve", "--tools", "all"]
    stdio = [node(), str(inspector), "--cli", "--cwd", str(project), *serve]
    listed = asked(stdio, "--method", "tools/list", "--strict", "--format", "json")
    tools: list[dict[str, Any]] = json.loads(listed.stdout)["result"]["tools"]
    print(f"Inspector, tools/list --strict: {len(tools)} tools, no portability problem", flush=True)
    for tool in tools:
        arguments = {name: example(tool, name) for name in tool["inputSchema"].get("required", ())}
        call(stdio, tool["name"], arguments, may_answer_error=True)
    print(f"Inspector, tools/call over stdio: all {len(tools)} answered", flush=True)
    with served("mcp_pdb.cli", "serve", "--http", "127.0.0.1:0") as url:
        over_http = [node(), str(inspector), "--cli", url]
        for name, arguments in SESSION:
            placed = arguments | {"cwd": str(project)} if name == "start_debugger" else arguments
            call(over_http, name, placed, may_answer_error=False)
    print(f"Inspector, a session of {len(SESSION)} calls over HTTP: none answered an error", flush=True)


def example(tool: dict[str, Any], name: str) -> object:
    """A plausible value for a required argument."""
    known: dict[str, object] = {
        "target": "test_cart.py::test_total",
        "expressions": ["1"],
        "to": "127.0.0.1:9",
    }
    kind = tool["inputSchema"]["properties"][name].get("type")
    return known.get(name, ["1"] if kind == "array" else "1")


def call(server: Command, tool: str, arguments: Mapping[str, object], *, may_answer_error: bool) -> None:
    """Call one tool. Raises JudgementError unless it answered with text."""
    asking = ("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
    answer = asked(server, *asking, "--format", "json", allowed=(0, IS_ERROR) if may_answer_error else (0,))
    result = json.loads(answer.stdout)["result"]
    if not result["content"][0]["text"] or (result.get("isError") and not may_answer_error):
        raise JudgementError(f"{tool} answered {result}")


def asked(server: Command, *method: str, allowed: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    """One run of the Inspector. Raises JudgementError on another exit status than the allowed ones."""
    finished = subprocess.run(
        [*server, *method], env=node_environment(), capture_output=True, text=True, check=False, timeout=90
    )
    if finished.returncode not in allowed:
        raise JudgementError(
            f"{' '.join(method)}: status {finished.returncode}\n{finished.stdout}{finished.stderr}"
        )
    return finished


if __name__ == "__main__":
    try:
        main()
    except JudgementError as failure:
        raise SystemExit(f"\n{failure}") from None
