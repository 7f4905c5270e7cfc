"""Read, Edit, Write and Bash, with the parameters that coding agents commonly have."""

from pydantic import Field

from pdb_agent.errors import SandboxEndedError, SandboxError
from pdb_agent.messages import CallStatus
from pdb_agent.tools.files import NO_UTF8, plain
from pdb_agent.tools.shell import BashArguments, Shell
from pdb_agent.tools.tool import ANSWER_CHARS, Answer, Arguments, CheckedTool, Tool
from pdb_agent.tools.workspace import Workspace, lines_of, with_ends_of

CALLS_PER_TURN = 4
_DEFAULT_LINES = 200
_SECOND = 1000


class ReadArguments(Arguments):
    """Which part of which file."""

    file_path: str
    offset: int = Field(default=1, ge=1, description="first line")
    limit: int = Field(default=_DEFAULT_LINES, ge=1, le=2000, description="number of lines")


class EditArguments(Arguments):
    """A replacement of exact text."""

    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


class WriteArguments(Arguments):
    """A whole file."""

    file_path: str
    content: str


class CommandArguments(Arguments):
    """A command."""

    command: str
    timeout: int = Field(default=30 * _SECOND, ge=1, le=120 * _SECOND, description="milliseconds")


class CodingTools:
    """The four tools; a file is read before it is edited or overwritten."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._shell = Shell(workspace)
        self._read: set[str] = set()

    async def read(self, arguments: ReadArguments) -> Answer:
        """Numbered lines."""
        path = plain(arguments.file_path, self._workspace)
        text = await self._workspace.read(path)
        if text is None:
            return _failed(f"File does not exist: {path}.", path)
        self._read.add(path)
        lines = lines_of(text)[arguments.offset - 1 : arguments.offset - 1 + arguments.limit]
        shown = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, start=arguments.offset))
        if len(shown) > ANSWER_CHARS:
            kept = shown[:ANSWER_CHARS].rpartition("\n")[0]
            count = kept.count("\n") + 1
            shown = f"{kept}\n[more lines follow: offset={arguments.offset + count}]"
        last = arguments.offset + len(lines) - 1
        return Answer(
            text=shown or "[no lines]", facts={"path": path, "first": arguments.offset, "last": last}
        )

    async def edit(self, arguments: EditArguments) -> Answer:
        """Replace a text that is there."""
        path = plain(arguments.file_path, self._workspace)
        text = await self._workspace.read(path)
        if text is None:
            return _failed(f"File does not exist: {path}.", path)
        if path not in self._read:
            return _failed(f"Read {path} before you edit it.", path)
        old, new = with_ends_of(text, arguments.old_string), with_ends_of(text, arguments.new_string)
        refusal = _refusal(path, text, old, new, replaces_all=arguments.replace_all)
        if refusal is None and not await self._workspace.is_utf8(path):
            refusal = NO_UTF8.format(path=path)
        return _failed(refusal, path) if refusal else await self._put(path, text.replace(old, new))

    async def write(self, arguments: WriteArguments) -> Answer:
        """Write a whole file."""
        path = plain(arguments.file_path, self._workspace)
        if path not in self._read and await self._workspace.read(path) is not None:
            return _failed(f"Read {path} before you overwrite it.", path)
        return await self._put(path, arguments.content)

    async def command(self, arguments: CommandArguments) -> Answer:
        """Run a command."""
        return await self._shell.run(
            BashArguments(command=arguments.command, timeout_seconds=arguments.timeout / _SECOND)
        )

    async def _put(self, path: str, content: str) -> Answer:
        try:
            await self._workspace.sandbox.put({path: content.encode()})
        except SandboxEndedError:
            raise
        except SandboxError as error:
            return _failed(str(error), path)
        self._read.add(path)
        return Answer(text=f"{path} has been written.", facts={"path": path})


def coding_tools(workspace: Workspace) -> list[Tool]:
    """The four, over one workspace."""
    tools = CodingTools(workspace)
    return [
        CheckedTool("Read", "Read a file; lines come with their numbers.", ReadArguments, tools.read),
        CheckedTool("Edit", "Replace exact text in a file that was read.", EditArguments, tools.edit),
        CheckedTool(
            "Write", "Write a whole file; one that exists is read first.", WriteArguments, tools.write
        ),
        CheckedTool("Bash", "Run a command in the workspace.", CommandArguments, tools.command),
    ]


def _refusal(path: str, text: str, old: str, new: str, *, replaces_all: bool) -> str | None:
    if old == new:
        return "old_string and new_string are the same."
    count = text.count(old) if old else 0
    if count == 0:
        return f"old_string is not in {path}: copy it exactly."
    if count > 1 and not replaces_all:
        return f"old_string occurs {count} times: give more context, or replace_all."
    return None


def _failed(text: str, path: str) -> Answer:
    return Answer(text=text, status=CallStatus.FAILED, facts={"path": path})
