"""What the tools are called, what they take, and what they say of themselves. Pure: no I/O.

Clients show a model only names until it searches, and search descriptions by
the words people use: so descriptions open with those words. The default
toolset stays below 2,000 tokens (bytes of the list / 4).
"""

from dataclasses import dataclass
from typing import Literal

from mcp_pdb.arguments import Parameter
from mcp_pdb.options import DEFAULT_TIMEOUT_SECONDS, LONGEST_TIMEOUT_SECONDS

Toolset = Literal["default", "all"]

TIMEOUT = Parameter(
    name="timeout_seconds",
    kind="number",
    default=int(DEFAULT_TIMEOUT_SECONDS),
    least=0,
    most=int(LONGEST_TIMEOUT_SECONDS),
)
SESSION = Parameter(name="session_id")
FRAME = Parameter(name="frame", kind="whole", default=0, least=0)
CURSOR = Parameter(name="cursor", kind="whole", least=0)
COUNT = Parameter(name="count", kind="whole", default=1, least=1, most=500)
PLACE = Parameter(
    name="at",
    required=True,
    description="file.py:62 | module.Class.method | file.py~piece of the line",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool as it is listed."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    reads_only: bool = False
    destroys: bool = False
    repeats_safely: bool = False
    takes_session: bool = True

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """Its own parameters, then session_id."""
        return (*self.parameters, SESSION) if self.takes_session else self.parameters


DEFAULT_TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="start_debugger",
        description=(
            "Debug a Python test, script or module: start it under a debugger. Stops at the first line; "
            "with run=true at the first breakpoint or failure. Answers with the session id."
        ),
        parameters=(
            Parameter(
                name="target",
                required=True,
                description="tests/test_x.py::test_y, script.py, -m package.module, unittest id, or code",
            ),
            Parameter(
                name="args", kind="texts", default=(), description="pytest options such as -k, or script args"
            ),
            Parameter(
                name="kind",
                default="auto",
                choices=("auto", "pytest", "unittest", "script", "module", "code"),
            ),
            Parameter(name="engine", choices=("pdb", "debugpy")),
            Parameter(name="python", description="interpreter; default: the project's own"),
            Parameter(name="cwd"),
            Parameter(
                name="breakpoints",
                kind="places",
                default=(),
                description="each as add_breakpoint's at",
            ),
            Parameter(name="run", kind="flag", default=False),
            Parameter(name="on_failure", default="stop", choices=("stop", "continue")),
            TIMEOUT,
        ),
        takes_session=False,
    ),
    ToolSpec(
        name="add_breakpoint",
        description=(
            "Set a breakpoint, conditional breakpoint or log point; the answer shows the line it is bound to."
        ),
        parameters=(
            PLACE,
            Parameter(name="condition", description="Python expression"),
            Parameter(name="hits", description="stop on hit 3, >=3 or %5"),
            Parameter(
                name="log", kind="texts", default=(), description="expressions to log instead of stopping"
            ),
            Parameter(name="once", kind="flag", default=False),
        ),
        repeats_safely=True,
    ),
    ToolSpec(
        name="remove_breakpoint",
        description="Remove a breakpoint by id, or all.",
        parameters=(Parameter(name="id", required=True, description="number or all"),),
        repeats_safely=True,
    ),
    ToolSpec(
        name="continue_execution",
        description="Continue to the next breakpoint, failure or the end. While running: go on waiting.",
        parameters=(TIMEOUT,),
    ),
    ToolSpec(
        name="step_over",
        description="Step to the next line; answers what changed.",
        parameters=(COUNT, TIMEOUT),
    ),
    ToolSpec(
        name="step_into",
        description="Step into the call on this line.",
        parameters=(COUNT, TIMEOUT),
    ),
    ToolSpec(
        name="step_out",
        description="Step out: run until this function returns; answers its return value.",
        parameters=(COUNT, TIMEOUT),
    ),
    ToolSpec(
        name="where_am_i",
        description=(
            "Show the call stack. all_threads=true: every thread and asyncio task and what it waits on, "
            "also while running or deadlocked."
        ),
        parameters=(Parameter(name="all_threads", kind="flag", default=False),),
        reads_only=True,
        repeats_safely=True,
    ),
    ToolSpec(
        name="examine_locals",
        description="Show local variables of a frame (0 = innermost).",
        parameters=(
            FRAME,
            Parameter(name="filter", description="part of a name or glob; '' shows all"),
            CURSOR,
        ),
        reads_only=True,
        repeats_safely=True,
    ),
    ToolSpec(
        name="print_variable",
        description="Open one variable by path.",
        parameters=(
            Parameter(name="path", required=True, description="pool[3].limits"),
            FRAME,
            Parameter(name="depth", kind="whole", default=1, least=0, most=4),
            CURSOR,
        ),
        reads_only=True,
        repeats_safely=True,
    ),
    ToolSpec(
        name="run_expression",
        description="Evaluate a Python expression or run statements in a frame; assignments take effect. "
        "After a failure `__exception__` is what was raised.",
        parameters=(
            Parameter(name="code", required=True),
            FRAME,
            Parameter(
                name="timeout_seconds", kind="number", default=5, least=0.1, most=int(LONGEST_TIMEOUT_SECONDS)
            ),
        ),
        destroys=True,
    ),
    ToolSpec(
        name="stop_debugger",
        description="End the debugging session and its program.",
        destroys=True,
        repeats_safely=True,
    ),
)

EXTENDED_TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="pause_execution",
        description="Pause a running program where it is, also in an endless loop or a deadlock.",
        repeats_safely=True,
    ),
    ToolSpec(
        name="run_to",
        description="Run to a line of the present program: file.py:62.",
        parameters=(
            Parameter(
                name="at", required=True, description="file.py:62, or a line number of the present file"
            ),
            TIMEOUT,
        ),
    ),
    ToolSpec(
        name="trace_lines",
        description="Trace a line: run on and tabulate expressions, one row per hit, without stopping.",
        parameters=(
            Parameter(name="where", required=True, description="as add_breakpoint's at"),
            Parameter(name="expressions", kind="texts", required=True),
            Parameter(name="max_hits", kind="whole", default=20, least=1, most=1000),
            TIMEOUT,
        ),
    ),
    ToolSpec(
        name="watch",
        description="Watch an expression: stop at the line that changes its value.",
        parameters=(
            Parameter(name="expression", required=True),
            FRAME,
            Parameter(name="mode", default="equality", choices=("equality", "identity")),
        ),
    ),
    ToolSpec(
        name="read_output",
        description="Read the program's output (stdout and stderr) from a cursor; without one, the unread.",
        parameters=(CURSOR,),
        reads_only=True,
        repeats_safely=True,
    ),
    ToolSpec(
        name="send_input",
        description="Send text to the program's standard input; end it with a newline.",
        parameters=(Parameter(name="text", required=True),),
    ),
    ToolSpec(
        name="set_variable",
        description="Assign a new value to a variable, attribute or item.",
        parameters=(
            Parameter(name="path", required=True),
            Parameter(name="expression", required=True),
            FRAME,
        ),
        destroys=True,
    ),
    ToolSpec(
        name="restart_debugger",
        description="Restart the program in the same session; breakpoints are kept and follow edited lines.",
        parameters=(Parameter(name="run", kind="flag", default=False), TIMEOUT),
        destroys=True,
    ),
    ToolSpec(
        name="list_sessions",
        description="List your debugging sessions and their states.",
        reads_only=True,
        repeats_safely=True,
        takes_session=False,
    ),
    ToolSpec(
        name="list_breakpoints",
        description="List breakpoints with their hit counts.",
        reads_only=True,
        repeats_safely=True,
    ),
    ToolSpec(
        name="attach",
        description="Attach the debugger to a running Python process by pid, or host:port of debugpy.",
        parameters=(
            Parameter(name="to", required=True, description="pid or host:port"),
            Parameter(name="cwd"),
        ),
        takes_session=False,
    ),
    ToolSpec(
        name="pdb_command",
        description="Run a pdb command by its name: w, u, d, pp x, l, source f, !x = 1, b, n, s, c, unt 40.",
        parameters=(Parameter(name="command", required=True), TIMEOUT),
        destroys=True,
    ),
)


def tools_of(toolset: Toolset) -> tuple[ToolSpec, ...]:
    """The tools a server with this toolset lists."""
    return DEFAULT_TOOLS if toolset == "default" else (*DEFAULT_TOOLS, *EXTENDED_TOOLS)
