"""The edit menu of a procedural task: look, run the tests, apply one of the changes on offer."""

from collections.abc import Mapping

from pydantic import Field

from pdb_agent.messages import CallStatus
from pdb_agent.tools.files import Files
from pdb_agent.tools.tool import Answer, Arguments, CheckedTool, Tool
from pdb_agent.tools.visible_tests import VisibleTests
from pdb_agent.tools.workspace import Workspace

Menu = Mapping[str, Mapping[str, bytes]]
"""Changed files by the name of the change; without any, the change does not apply."""


class ChangeArguments(Arguments):
    """One entry of the menu."""

    op: str = Field(description="name of the change")


def menu_tools(workspace: Workspace, tests: VisibleTests, menu: Menu) -> list[Tool]:
    """read_file, run_tests and edit, which applies an entry to the program as it was at the start."""

    async def edit(arguments: ChangeArguments) -> Answer:
        files = menu.get(arguments.op)
        if files is None:
            return Answer(
                text=f"There is no change {arguments.op}: there are {', '.join(menu)}.",
                status=CallStatus.FAILED,
            )
        if not files:
            return Answer(
                text=f"{arguments.op} finds nothing to change in this program.", status=CallStatus.FAILED
            )
        await workspace.sandbox.put({**workspace.task.workspace, **files})
        return Answer(text=f"Applied {arguments.op}.", facts={"op": arguments.op})

    description = f"Apply one change: {', '.join(menu)}."
    return [
        Files(workspace).read_tool(),
        tests.run_tool(),
        CheckedTool("edit", description, ChangeArguments, edit),
    ]
