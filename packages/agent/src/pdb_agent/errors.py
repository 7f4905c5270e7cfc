"""What can go wrong, as a tree; each message is a sentence that says what to do next.

AgentError
├── SandboxError            no sandbox could be had, or it has ended
│   ├── NoSandboxError      no backend works here
│   └── SandboxEndedError   it was killed, from inside or by its watchdog
├── TaskError               a task's files do not make a task
├── ImportFormatError       a data set's folder or line is not what its importer reads
└── GradingError            no verdict could be reached: an infrastructure failure, never a failed attempt
"""


class AgentError(Exception):
    """Root of what this package raises on purpose."""


class SandboxError(AgentError):
    """No sandbox could be had, or it has ended."""


class NoSandboxError(SandboxError):
    """No backend works on this machine; the message names what was tried and the ways on."""


class SandboxEndedError(SandboxError):
    """The sandbox has ended: killed from inside, by its watchdog, or closed."""


class TaskError(AgentError):
    """A task's files do not make a task; the message names the file and what to write there."""


class ImportFormatError(AgentError):
    """What an importer was given is not what it reads; the message names the file and line."""


class GradingError(AgentError):
    """No verdict could be reached for a reason that is not the submission's."""
