"""read_file and edit_file: the program's text, with line numbers and exact replacements."""

from pydantic import Field

from pdb_agent.errors import SandboxEndedError, SandboxError
from pdb_agent.messages import CallStatus
from pdb_agent.tools.tool import ANSWER_CHARS, Answer, Arguments, CheckedTool
from pdb_agent.tools.workspace import Workspace, lines_of, with_ends_of

DEFAULT_LINES = 120
NO_UTF8 = "{path} is not UTF-8 text, so it would not be written back as it is: change it with a command."
_SHOWN_AROUND = 3


class ReadArguments(Arguments):
    """Which part of a file."""

    path: str = Field(description="relative to the workspace")
    line: int = Field(default=1, ge=1, description="first line")
    count: int = Field(default=DEFAULT_LINES, ge=1, le=400, description="number of lines")


class EditArguments(Arguments):
    """A replacement."""

    path: str
    old: str = Field(description="exact text to replace, unique in the file; empty makes a new file")
    new: str


class Files:
    """Reads and edits files of the workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def read_tool(self) -> CheckedTool[ReadArguments]:
        """The tool that reads."""
        return CheckedTool("read_file", "Show lines of a file, numbered.", ReadArguments, self.read)

    def edit_tool(self) -> CheckedTool[EditArguments]:
        """The tool that edits."""
        return CheckedTool(
            "edit_file", "Replace a piece of a file's text, given exactly.", EditArguments, self.edit
        )

    async def read(self, arguments: ReadArguments) -> Answer:
        """Numbered lines, within a bound."""
        path = plain(arguments.path, self._workspace)
        text = await self._text(path)
        if isinstance(text, Answer):
            return text
        lines = lines_of(text)
        if arguments.line > max(1, len(lines)):
            return Answer(
                text=f"{path} has {len(lines)} lines: give a line up to that.", status=CallStatus.FAILED
            )
        shown: list[str] = []
        size = 0
        for number, line in enumerate(
            lines[arguments.line - 1 : arguments.line - 1 + arguments.count], start=arguments.line
        ):
            entry = f"{number:4} {line}"
            size += len(entry) + 1
            if size > ANSWER_CHARS and shown:
                break
            shown.append(entry[:ANSWER_CHARS])
        last = arguments.line + len(shown) - 1
        if last < len(lines):
            shown.append(f"[lines {last + 1} to {len(lines)} follow: line={last + 1}]")
        return Answer(
            text="\n".join(shown) or "[the file is empty]",
            facts={"path": path, "first": arguments.line, "last": last},
        )

    async def edit(self, arguments: EditArguments) -> Answer:
        """Replace a text that occurs once, and show where."""
        path = plain(arguments.path, self._workspace)
        refusal = self._refusal(path, arguments)
        if refusal is not None:
            return _failed(refusal, path)
        if not arguments.old:
            return await self._create(path, arguments.new)
        text = await self._text(path)
        if isinstance(text, Answer):
            return text
        if not await self._workspace.is_utf8(path):
            return _failed(NO_UTF8.format(path=path), path)
        old, new = with_ends_of(text, arguments.old), with_ends_of(text, arguments.new)
        count = text.count(old)
        if count != 1:
            return _failed(_occurrences(path, text, old, count), path)
        return await self._write(path, text.replace(old, new), text.index(old), new)

    def _refusal(self, path: str, arguments: EditArguments) -> str | None:
        if arguments.old == arguments.new:
            return "The old and the new text are the same: give the text as it has to be."
        if not self._workspace.is_editable(path):
            globs = ", ".join(self._workspace.task.editable)
            return f"{path} is not part of the program that is judged ({globs}): change a file of that."
        return None

    async def _create(self, path: str, content: str) -> Answer:
        if await self._workspace.read(path) is not None:
            return _failed(f"{path} is there already: give the text to replace as old.", path)
        return await self._write(path, content, 0, content)

    async def _write(self, path: str, content: str, position: int, new: str) -> Answer:
        try:
            await self._workspace.sandbox.put({path: content.encode()})
        except SandboxEndedError:
            raise
        except SandboxError as error:
            return _failed(str(error), path)
        first = content.count("\n", 0, position)
        lines = lines_of(content)
        begin, end = max(0, first - _SHOWN_AROUND), first + new.count("\n") + 1 + _SHOWN_AROUND
        shown = "\n".join(
            f"{number:4} {line}" for number, line in enumerate(lines[begin:end], start=begin + 1)
        )
        return Answer(text=f"{path} now reads\n{shown}"[:ANSWER_CHARS], facts={"path": path})

    async def _text(self, path: str) -> str | Answer:
        text = await self._workspace.read(path)
        if text is not None:
            return text
        there = [name for name in await self._workspace.sandbox.list_files() if not name.endswith(".pyc")]
        folder = path.rstrip("/")
        inside = [name for name in there if name.startswith(f"{folder}/")]
        if inside or folder in ("", "."):
            listed = ", ".join((inside or there)[:20])
            return _failed(f"{path} is a folder: give one of its files ({listed}).", path)
        return _failed(f"There is no file {path}: there are {', '.join(there[:20])}.", path)


def plain(path: str, workspace: Workspace) -> str:
    """``path`` relative to the workspace, if it lies there."""
    inside = f"{workspace.sandbox.workspace}/"
    return path.removeprefix(inside).removeprefix("./")


def _occurrences(path: str, text: str, old: str, count: int) -> str:
    if count:
        return f"The old text occurs {count} times in {path}: give more of the lines around it."
    if old.strip() and old.strip() in text:
        return (
            f"The old text is in {path} only with other spaces around it: copy it exactly, indentation too."
        )
    return f"The old text is not in {path}: read the file and copy the text exactly."


def _failed(text: str, path: str) -> Answer:
    return Answer(text=text, status=CallStatus.FAILED, facts={"path": path})
