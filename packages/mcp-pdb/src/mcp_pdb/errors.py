"""What can go wrong, as one tree.

::

    DebuggerError                 a sentence for the model, always with the way on
    ├── TargetError               the target cannot be started as asked
    │   ├── InterpreterError      no interpreter, too old, or it lacks pytest
    │   └── PathError             a file is missing or outside the allowed roots
    ├── BreakpointError           a breakpoint cannot be set as asked
    ├── StateError                the command is not valid in this state
    │   └── BusyError             another command is running in this session
    ├── SessionError              unknown, expired or ambiguous session; too many
    ├── InspectionError           no such frame, name or path; evaluation failed
    ├── UnsupportedError          this engine cannot do that (says which can)
    └── EngineError               the engine broke or its process vanished

``str(error)`` is what the model reads: one or two sentences, no traceback.
"""


class DebuggerError(Exception):
    """A failure that the caller can act on; its text says what to do next."""


class TargetError(DebuggerError):
    """The target cannot be started as asked."""


class InterpreterError(TargetError):
    """No usable interpreter for the target, or it lacks a package it needs."""


class PathError(TargetError):
    """A file is missing or lies outside the allowed roots."""


class BreakpointError(DebuggerError):
    """The breakpoint cannot be set as asked."""


class StateError(DebuggerError):
    """The command is not valid in the session's present state."""


class BusyError(StateError):
    """Another command is running in this session."""


class SessionError(DebuggerError):
    """The session is unknown, expired, ambiguous, or there are too many."""


class InspectionError(DebuggerError):
    """A frame, name or path does not exist, or an evaluation failed."""


class UnsupportedError(DebuggerError):
    """This engine cannot do that; the text names the one that can."""


class EngineError(DebuggerError):
    """The engine failed or its process vanished."""
