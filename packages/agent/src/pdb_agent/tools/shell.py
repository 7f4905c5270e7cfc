"""bash: a command in the workspace."""

from pydantic import Field

from pdb_agent.messages import CallStatus
from pdb_agent.tools.tool import ANSWER_CHARS, Answer, Arguments, CheckedTool
from pdb_agent.tools.workspace import Workspace

DEFAULT_SECONDS = 30.0
LONGEST_SECONDS = 120.0
_KEPT_BYTES = 256 * 1024


class BashArguments(Arguments):
    """Exactly one of the first two is given."""

    command: str | None = Field(default=None, description="run with bash in the workspace")
    cursor: int | None = Field(
        default=None, ge=0, description="read on in the last command's output from this character"
    )
    timeout_seconds: float = Field(default=DEFAULT_SECONDS, gt=0, le=LONGEST_SECONDS)


class Shell:
    """Runs commands, and keeps the last one's output to be read on."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._output = ""

    def tool(self, name: str = "bash") -> CheckedTool[BashArguments]:
        """The tool."""
        description = (
            "Run a bash command in the workspace. Nothing it starts outlives it. "
            f"Shows {ANSWER_CHARS} characters; read on with cursor."
        )
        return CheckedTool(name, description, BashArguments, self.run)

    async def run(self, arguments: BashArguments) -> Answer:
        """Run, or read on."""
        if (arguments.command is None) == (arguments.cursor is None):
            return Answer(
                text="bash takes a command or a cursor, not both: give one.", status=CallStatus.MALFORMED
            )
        if arguments.command is None:
            shown = page(self._output, arguments.cursor or 0)
            return Answer(text=shown or "[no output]", facts={"cursor": arguments.cursor})
        result = await self._workspace.sandbox.run(
            ["bash", "-c", arguments.command],
            timeout_seconds=arguments.timeout_seconds,
            output_bytes=_KEPT_BYTES,
        )
        self._output = result.output
        notes: list[str] = []
        if result.timed_out:
            notes.append(f"[killed after {arguments.timeout_seconds:g} s]")
        if result.flooded:
            notes.append("[killed: it wrote without end]")
        if result.out_of_memory:
            notes.append("[killed: out of memory]")
        if result.omitted_bytes:
            notes.append(f"[{result.omitted_bytes} more bytes were not kept]")
        if result.exit_code:
            notes.append(f"[exit code {result.exit_code}]")
        text = "\n".join(part for part in (page(result.output, 0).rstrip("\n"), *notes) if part)
        return Answer(
            text=text or "[no output]",
            status=CallStatus.TIMED_OUT if result.timed_out else CallStatus.OK,
            facts={"exit_code": result.exit_code, "timed_out": result.timed_out},
        )


def page(text: str, cursor: int, limit_chars: int = ANSWER_CHARS) -> str:
    """``text`` from ``cursor`` on, within a bound, with the cursor that goes on."""
    shown = text[cursor : cursor + limit_chars]
    left = len(text) - cursor - len(shown)
    if not shown and cursor:
        return f"[there is nothing from cursor {cursor} on: {len(text)} characters in all]"
    return shown if left <= 0 else f"{shown}\n[{left} more characters: cursor={cursor + len(shown)}]"
