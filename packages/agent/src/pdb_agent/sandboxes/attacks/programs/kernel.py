"""Attacks on the kernel's wider doors."""

import ctypes
import os
import signal
import struct

from .reporting import ON_X86, Settings, attempt_each, process_control, report, run, system_call

CLONE_NEWUSER = 0x10000000
PR_GET_NO_NEW_PRIVS = 39
CAPABILITY_VERSION_3 = 0x20080522
CLONE, UNSHARE, BPF, KEYCTL, USERFAULTFD, PERF_EVENT_OPEN, CAPGET = (
    (56, 272, 321, 250, 323, 298, 125) if ON_X86 else (220, 97, 280, 219, 282, 241, 90)
)
IO_URING_SETUP, CLONE3 = 425, 435


def nested_namespace(settings: Settings) -> None:
    attempt_each(
        (
            ("unshare", lambda: system_call(UNSHARE, CLONE_NEWUSER)),
            ("clone", lambda: _end_child(system_call(CLONE, CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0))),
            ("clone3", lambda: _end_child(_clone3())),
        )
    )


def _clone3() -> int:
    arguments = (ctypes.c_uint64 * 8)(CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    return system_call(CLONE3, arguments, ctypes.sizeof(arguments))


def _end_child(pid: int) -> None:
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def kernel_surface(settings: Settings) -> None:
    zeros = ctypes.create_string_buffer(128)
    attempt_each(
        (
            ("io_uring", lambda: system_call(IO_URING_SETUP, 1, zeros)),
            ("keyctl", lambda: system_call(KEYCTL, 0, -3, 1)),
            ("bpf", lambda: system_call(BPF, 0, zeros, 72)),
            ("perf", lambda: system_call(PERF_EVENT_OPEN, zeros, 0, -1, -1, 0)),
            ("userfaultfd", lambda: system_call(USERFAULTFD, 1)),
        )
    )


def gain_privileges(settings: Settings) -> None:
    """Whether a set-uid program would be one here, and which capabilities this process holds."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", CAPABILITY_VERSION_3, 0), 8)
    sets = ctypes.create_string_buffer(24)
    system_call(CAPGET, header, sets)
    effective, permitted = struct.unpack_from("=II", sets)
    done = ["capabilities"] if effective or permitted else []
    if process_control(PR_GET_NO_NEW_PRIVS) != 1:
        done.append("set-uid programs")
    report(done=done, refused={"privileges": f"uid {os.getuid()} without any"})


if __name__ == "__main__":
    run(globals())
