"""The system calls that no sandbox needs, refused by a classic BPF program that is assembled here.

A sandbox's namespaces and Landlock rules decide what code inside can name; this
list takes away the parts of the kernel that they do not govern: mounts and new
namespaces, other processes' memory, tracing and BPF, keys, modules, asynchronous
calls that no rule sees, and memory that belongs to no process and so escapes
every limit (shared segments, anonymous files). Sockets are allowed by family:
a network namespace does not cover AF_VSOCK, and Landlock does not govern paths
of Unix sockets.

It is a list of what is refused, not of what is allowed: Python and its
extension modules must keep working, on kernels to come as well.
"""

import errno
import platform
import socket
import struct
from collections.abc import Collection
from dataclasses import dataclass

from pdb_agent.errors import SandboxError

ALLOW = 0x7FFF0000
REFUSE = 0x00050000
"""Return an error number, which is or-ed into the low bits."""
KILL_PROCESS = 0x80000000
AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_CALLS = 0x40000000
"""On x86_64 every call at or above this number belongs to the x32 interface."""
NEW_NAMESPACES = 0x7E020000
"""The CLONE_NEW… flags that ``clone`` takes."""
TERMINAL_CONTROLS = (0x5412, 0x541C, 0x5423)
"""TIOCSTI (types into a terminal), TIOCLINUX (pastes into a console), TIOCSETD (loads a line discipline)."""

_LOAD_WORD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _JUMP_IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32
"""Offsets in struct seccomp_data; of an argument the low word is read, which is all these calls look at."""
_INSTRUCTION = struct.Struct("=HBBI")
_NEXT = "next instruction"


@dataclass(frozen=True, slots=True)
class SystemCall:
    """A call's name and its number on each machine; None where it does not exist."""

    name: str
    x86_64: int | None
    aarch64: int | None

    def number(self, machine: str) -> int | None:
        """Its number on ``machine``."""
        return self.x86_64 if machine == "x86_64" else self.aarch64


FORBIDDEN = (
    # Other processes' memory and descriptors.
    SystemCall("ptrace", 101, 117),
    SystemCall("process_vm_readv", 310, 270),
    SystemCall("process_vm_writev", 311, 271),
    SystemCall("process_madvise", 440, 440),
    SystemCall("kcmp", 312, 272),
    SystemCall("pidfd_getfd", 438, 438),
    # Mounts and namespaces.
    SystemCall("mount", 165, 40),
    SystemCall("umount2", 166, 39),
    SystemCall("pivot_root", 155, 41),
    SystemCall("chroot", 161, 51),
    SystemCall("move_mount", 429, 429),
    SystemCall("open_tree", 428, 428),
    SystemCall("open_tree_attr", 467, 467),
    SystemCall("fsopen", 430, 430),
    SystemCall("fsconfig", 431, 431),
    SystemCall("fsmount", 432, 432),
    SystemCall("fspick", 433, 433),
    SystemCall("mount_setattr", 442, 442),
    SystemCall("unshare", 272, 97),
    SystemCall("setns", 308, 268),
    SystemCall("sethostname", 170, 161),
    SystemCall("setdomainname", 171, 162),
    # Wide doors into the kernel that Python does not use.
    SystemCall("bpf", 321, 280),
    SystemCall("perf_event_open", 298, 241),
    SystemCall("userfaultfd", 323, 282),
    SystemCall("io_uring_setup", 425, 425),
    SystemCall("io_uring_enter", 426, 426),
    SystemCall("io_uring_register", 427, 427),
    SystemCall("add_key", 248, 217),
    SystemCall("request_key", 249, 218),
    SystemCall("keyctl", 250, 219),
    SystemCall("personality", 135, 92),
    SystemCall("move_pages", 279, 239),
    SystemCall("migrate_pages", 256, 238),
    SystemCall("mbind", 237, 235),
    SystemCall("set_mempolicy", 238, 237),
    SystemCall("set_mempolicy_home_node", 450, 450),
    SystemCall("fanotify_init", 300, 262),
    SystemCall("lookup_dcookie", 212, 18),
    SystemCall("name_to_handle_at", 303, 264),
    SystemCall("open_by_handle_at", 304, 265),
    # Memory that outlives or belongs to no process: no limit and no watchdog counts it. Without an
    # IPC namespace the segments, semaphores and queues would also be the host's.
    SystemCall("memfd_create", 319, 279),
    SystemCall("memfd_secret", 447, 447),
    SystemCall("shmget", 29, 194),
    SystemCall("shmat", 30, 196),
    SystemCall("shmctl", 31, 195),
    SystemCall("semget", 64, 190),
    SystemCall("semctl", 66, 191),
    SystemCall("semop", 65, 193),
    SystemCall("semtimedop", 220, 192),
    SystemCall("msgget", 68, 186),
    SystemCall("msgsnd", 69, 189),
    SystemCall("msgrcv", 70, 188),
    SystemCall("msgctl", 71, 187),
    SystemCall("mq_open", 240, 180),
    SystemCall("mq_unlink", 241, 181),
    # The machine itself.
    SystemCall("kexec_load", 246, 104),
    SystemCall("kexec_file_load", 320, 294),
    SystemCall("init_module", 175, 105),
    SystemCall("finit_module", 313, 273),
    SystemCall("delete_module", 176, 106),
    SystemCall("reboot", 169, 142),
    SystemCall("swapon", 167, 224),
    SystemCall("swapoff", 168, 225),
    SystemCall("acct", 163, 89),
    SystemCall("quotactl", 179, 60),
    SystemCall("quotactl_fd", 443, 443),
    SystemCall("syslog", 103, 116),
    SystemCall("settimeofday", 164, 170),
    SystemCall("clock_settime", 227, 112),
    SystemCall("adjtimex", 159, 171),
    SystemCall("clock_adjtime", 305, 266),
    SystemCall("vhangup", 153, 58),
    SystemCall("iopl", 172, None),
    SystemCall("ioperm", 173, None),
    SystemCall("modify_ldt", 154, None),
    SystemCall("uselib", 134, None),
    SystemCall("sysfs", 139, None),
    SystemCall("ustat", 136, None),
)
"""What is refused with EPERM, whatever the arguments."""

SIGNALS = (
    SystemCall("tkill", 200, 130),
    SystemCall("tgkill", 234, 131),
    SystemCall("rt_sigqueueinfo", 129, 138),
    SystemCall("rt_tgsigqueueinfo", 297, 240),
    SystemCall("pidfd_send_signal", 424, 424),
)
OF_OTHERS = (
    # Names of processes and files that are the host's too, which Landlock does not govern.
    SystemCall("setpriority", 141, 140),
    SystemCall("ioprio_set", 251, 30),
    SystemCall("chown", 92, None),
    SystemCall("lchown", 94, None),
    SystemCall("fchownat", 260, 54),
    SystemCall("setxattr", 188, 5),
    SystemCall("lsetxattr", 189, 6),
    SystemCall("setxattrat", 463, 463),
    SystemCall("removexattr", 197, 14),
    SystemCall("lremovexattr", 198, 15),
    SystemCall("removexattrat", 466, 466),
)
"""What a process that shares its user with the host could do to the host's processes and files."""
MODES = (SystemCall("chmod", 90, None), SystemCall("fchmodat", 268, 53), SystemCall("fchmodat2", 452, 452))
"""Pretended: copying a file sets its mode, and must not fail."""
OF_ONESELF = (
    SystemCall("prlimit64", 302, 261),
    SystemCall("sched_setaffinity", 203, 122),
    SystemCall("sched_setparam", 142, 118),
    SystemCall("sched_setscheduler", 144, 119),
    SystemCall("sched_setattr", 314, 274),
)
"""Allowed for the process itself, named by 0."""
_KILL = SystemCall("kill", 62, 129)
_CLONE = SystemCall("clone", 56, 220)
_CLONE3 = SystemCall("clone3", 435, 435)
_SOCKET = SystemCall("socket", 41, 198)
_SOCKETPAIR = SystemCall("socketpair", 53, 199)
_IOCTL = SystemCall("ioctl", 16, 29)
_SETSOCKOPT = SystemCall("setsockopt", 54, 208)
_SOL_SOCKET, _BUFFER_OPTIONS = 1, (7, 8)
"""SO_SNDBUF and SO_RCVBUF; a size is a wish, which the kernel does not always grant either."""


class _Assembler:
    """Instructions whose jumps name labels; a jump goes forward only, as the kernel demands."""

    def __init__(self, machine: str) -> None:
        self._machine = machine
        self._instructions: list[tuple[int, int, str, str]] = []
        self._labels: dict[str, int] = {}

    def load(self, offset: int) -> None:
        self._instructions.append((_LOAD_WORD, offset, _NEXT, _NEXT))

    def jump(self, test: int, value: int, *, then: str = _NEXT, otherwise: str = _NEXT) -> None:
        self._instructions.append((test, value, then, otherwise))

    def jump_for(self, call: SystemCall, *, then: str) -> None:
        number = call.number(self._machine)
        if number is not None:
            self.jump(_JUMP_IF_EQUAL, number, then=then)

    def answer(self, verdict: int) -> None:
        self._instructions.append((_RETURN, verdict, _NEXT, _NEXT))

    def label(self, name: str) -> None:
        self._labels[name] = len(self._instructions)

    def assemble(self) -> bytes:
        return b"".join(
            _INSTRUCTION.pack(code, self._distance(index, then), self._distance(index, otherwise), value)
            for index, (code, value, then, otherwise) in enumerate(self._instructions)
        )

    def _distance(self, index: int, label: str) -> int:
        return 0 if label == _NEXT else self._labels[label] - index - 1


def program(*, families: Collection[int], machine: str = platform.machine()) -> bytes:
    """The filter for seccomp's filter mode, ready for ``bwrap --seccomp`` or ``prctl``.

    ``socket`` makes sockets of ``families`` only, and ``socketpair`` those of AF_UNIX.
    Raises SandboxError for a machine whose system call numbers are not known.
    """
    code = _Assembler(machine)
    _check_architecture(code, machine)
    for call in FORBIDDEN:
        code.jump_for(call, then="not permitted")
    code.jump_for(_CLONE3, then="not implemented")
    code.jump_for(_CLONE, then="clone")
    code.jump_for(_SOCKET, then="socket")
    code.jump_for(_SOCKETPAIR, then="socketpair")
    code.jump_for(_IOCTL, then="ioctl")
    code.jump_for(_SETSOCKOPT, then="setsockopt")
    code.answer(ALLOW)
    _judge_arguments(code, families)
    _give_verdicts(code)
    return code.assemble()


def shared_user_program(*, may_signal: bool, machine: str = platform.machine()) -> bytes:
    """A further filter for programs whose user also has processes and files outside the sandbox.

    Without ``may_signal`` a program may signal its own process group only. Raises SandboxError.
    """
    code = _Assembler(machine)
    _check_architecture(code, machine)
    for call in (*OF_OTHERS, *(() if may_signal else SIGNALS)):
        code.jump_for(call, then="not permitted")
    for call in MODES:
        code.jump_for(call, then="pretended")
    for call in (*OF_ONESELF, *(() if may_signal else (_KILL,))):
        code.jump_for(call, then="oneself")
    code.answer(ALLOW)
    code.label("oneself")
    code.load(_FIRST_ARGUMENT)
    code.jump(_JUMP_IF_EQUAL, 0, then="allowed", otherwise="not permitted")
    _give_verdicts(code)
    return code.assemble()


def _check_architecture(code: _Assembler, machine: str) -> None:
    if machine not in AUDIT_ARCHITECTURES:
        raise SandboxError(
            f"The system calls of {machine} are not known to the sandbox, only those of "
            f"{' and '.join(AUDIT_ARCHITECTURES)}: use --backend container on this machine."
        )
    code.load(_ARCHITECTURE)
    code.jump(_JUMP_IF_EQUAL, AUDIT_ARCHITECTURES[machine], then="known architecture")
    code.answer(KILL_PROCESS)
    code.label("known architecture")
    code.load(_NUMBER)
    if machine == "x86_64":
        code.jump(_JUMP_IF_AT_LEAST, X32_CALLS, then="not implemented")


def _judge_arguments(code: _Assembler, families: Collection[int]) -> None:
    code.label("clone")
    code.load(_FIRST_ARGUMENT)
    code.jump(_JUMP_IF_ANY_BIT, NEW_NAMESPACES, then="not permitted", otherwise="allowed")
    for call, allowed in (("socket", families), ("socketpair", (socket.AF_UNIX,))):
        code.label(call)
        code.load(_FIRST_ARGUMENT)
        for family in sorted(allowed):
            code.jump(_JUMP_IF_EQUAL, family, then="allowed")
        code.answer(REFUSE | errno.EAFNOSUPPORT)
    code.label("ioctl")
    code.load(_SECOND_ARGUMENT)
    for control in TERMINAL_CONTROLS:
        code.jump(_JUMP_IF_EQUAL, control, then="not permitted")
    code.answer(ALLOW)
    code.label("setsockopt")
    code.load(_SECOND_ARGUMENT)
    code.jump(_JUMP_IF_EQUAL, _SOL_SOCKET, otherwise="allowed")
    code.load(_THIRD_ARGUMENT)
    for option in _BUFFER_OPTIONS:
        code.jump(_JUMP_IF_EQUAL, option, then="pretended")


def _give_verdicts(code: _Assembler) -> None:
    code.label("allowed")
    code.answer(ALLOW)
    code.label("pretended")
    code.answer(REFUSE | 0)
    code.label("not permitted")
    code.answer(REFUSE | errno.EPERM)
    # clone3 keeps its flags in memory, where no filter sees them: told that the call does not
    # exist, the C library falls back to clone.
    code.label("not implemented")
    code.answer(REFUSE | errno.ENOSYS)
