"""How a debuggee starts on Windows: in a Job Object, with a loopback channel.

Written from the documentation of the Windows API and never run there; what it
shares with other systems (``piped_launcher``, ``loopback_channel``) is tested.

The program is created suspended, put into the job and only then let run, so
that nothing it starts can be outside. The job's handle is the server's alone:
however the server ends, Windows closes it and kills whatever the job holds.
"""

import ctypes
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from mcp_pdb.piped_launcher import PipedLauncher

CREATE_SUSPENDED = 0x00000004
CREATE_NEW_PROCESS_GROUP = 0x00000200
CREATE_NO_WINDOW = 0x08000000
PROCESS_ACCESS = 0x0001 | 0x0100 | 0x0800
"""PROCESS_TERMINATE and PROCESS_SET_QUOTA, which a job asks for, and PROCESS_SUSPEND_RESUME."""
KILL_ON_JOB_CLOSE = 0x00002000
BASIC_ACCOUNTING = 1
EXTENDED_LIMITS = 9
"""JobObjectBasicAccountingInformation and JobObjectExtendedLimitInformation."""
KILLED_STATUS = 1


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION, with the basic limits and counters laid out in line."""

    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
        ("IoCounters", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class Accounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION."""

    _fields_ = (
        ("TotalUserTime", ctypes.c_int64),
        ("TotalKernelTime", ctypes.c_int64),
        ("ThisPeriodTotalUserTime", ctypes.c_int64),
        ("ThisPeriodTotalKernelTime", ctypes.c_int64),
        ("TotalPageFaultCount", ctypes.c_uint32),
        ("TotalProcesses", ctypes.c_uint32),
        ("ActiveProcesses", ctypes.c_uint32),
        ("TotalTerminatedProcesses", ctypes.c_uint32),
    )


class JobCalls(Protocol):
    """The calls of the Windows API that a job needs; each raises OSError when refused."""

    def create_job(self) -> int:
        """The handle of a new job, inherited by nobody."""
        ...

    def set_limits(self, job: int, limits: ExtendedLimits) -> None:
        """SetInformationJobObject with the extended limits."""
        ...

    def open_process(self, pid: int) -> int:
        """A handle with PROCESS_ACCESS."""
        ...

    def assign(self, job: int, process: int) -> None:
        """AssignProcessToJobObject."""
        ...

    def resume(self, process: int) -> None:
        """Let a process run that was created suspended."""
        ...

    def terminate(self, job: int) -> None:
        """TerminateJobObject."""
        ...

    def count_active(self, job: int) -> int:
        """How many processes of the job live."""
        ...

    def close(self, handle: int) -> None:
        """CloseHandle."""
        ...


class JobHold:
    """One program's Job Object (meets ``mcp_pdb.piped_process.Hold``)."""

    def __init__(self, calls: JobCalls) -> None:
        self._calls = calls
        self._job: int | None = calls.create_job()
        limits = ExtendedLimits()
        limits.LimitFlags = KILL_ON_JOB_CLOSE
        try:
            calls.set_limits(self._job, limits)
        except OSError:
            self.close()
            raise

    def start_options(self) -> Mapping[str, Any]:
        """Suspended until it is in the job, out of reach of our console's Ctrl-C, without a window."""
        return {"creationflags": CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW}

    def take(self, pid: int) -> None:
        """Put the suspended program into the job and let it run. Raises OSError."""
        if self._job is None:
            raise OSError("the job is closed")
        process = self._calls.open_process(pid)
        try:
            self._calls.assign(self._job, process)
            self._calls.resume(process)
        finally:
            self._calls.close(process)

    def kill(self) -> None:
        """Begin to kill whatever is in the job; idempotent."""
        if self._job is not None:
            self._calls.terminate(self._job)

    def is_empty(self) -> bool:
        """True when nothing in the job lives."""
        return self._job is None or self._calls.count_active(self._job) == 0

    def close(self) -> None:
        """Close the job's only handle, which kills whatever is still in it; idempotent."""
        if self._job is not None:
            job, self._job = self._job, None
            self._calls.close(job)


class WindowsCalls:
    """The Windows API itself (meets ``JobCalls``)."""

    def __init__(self) -> None:
        kernel, native = _library("kernel32"), _library("ntdll")
        handle, number, pointer, flag = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_int
        self._create = _prototype(kernel.CreateJobObjectW, handle, pointer, ctypes.c_wchar_p)
        self._set = _prototype(kernel.SetInformationJobObject, flag, handle, flag, pointer, number)
        self._query = _prototype(
            kernel.QueryInformationJobObject, flag, handle, flag, pointer, number, pointer
        )
        self._open = _prototype(kernel.OpenProcess, handle, number, flag, number)
        self._assign = _prototype(kernel.AssignProcessToJobObject, flag, handle, handle)
        self._terminate = _prototype(kernel.TerminateJobObject, flag, handle, number)
        self._close = _prototype(kernel.CloseHandle, flag, handle)
        self._resume = _prototype(native.NtResumeProcess, ctypes.c_int32, handle)

    def create_job(self) -> int:
        """The handle of a new job, inherited by nobody."""
        return _checked(self._create(None, None))

    def set_limits(self, job: int, limits: ExtendedLimits) -> None:
        """SetInformationJobObject with the extended limits."""
        _checked(self._set(job, EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)))

    def open_process(self, pid: int) -> int:
        """A handle with PROCESS_ACCESS."""
        return _checked(self._open(PROCESS_ACCESS, False, pid))

    def assign(self, job: int, process: int) -> None:
        """AssignProcessToJobObject."""
        _checked(self._assign(job, process))

    def resume(self, process: int) -> None:
        """Let a process run that was created suspended: its only thread's handle is Popen's, and closed."""
        status = self._resume(process)
        if status != 0:
            raise OSError(f"NtResumeProcess answered {status & 0xFFFFFFFF:#x}")

    def terminate(self, job: int) -> None:
        """TerminateJobObject."""
        _checked(self._terminate(job, KILLED_STATUS))

    def count_active(self, job: int) -> int:
        """How many processes of the job live."""
        found = Accounting()
        _checked(self._query(job, BASIC_ACCOUNTING, ctypes.byref(found), ctypes.sizeof(found), None))
        return found.ActiveProcesses

    def close(self, handle: int) -> None:
        """CloseHandle."""
        _checked(self._close(handle))


class WindowsLauncher(PipedLauncher):
    """Starts programs on Windows, each in a job of its own."""

    def __init__(self) -> None:
        super().__init__(lambda: JobHold(WindowsCalls()))


def _library(name: str) -> Any:
    """A library of Windows. Raises OSError elsewhere."""
    if sys.platform == "win32":
        return ctypes.WinDLL(name, use_last_error=True)
    raise OSError(f"{name} exists on Windows only")


def _prototype(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype = result
    function.argtypes = arguments
    return function


def _checked(answer: int | None) -> int:
    """The answer of a call that says failure by zero. Raises OSError."""
    if sys.platform == "win32" and not answer:
        raise ctypes.WinError(ctypes.get_last_error())
    return answer or 0
