"""The filter is loaded into a real process, and interpreted here for the machines that this one is not."""

import errno
import json
import platform
import signal
import socket
import struct
import subprocess
import sys

import pytest
from pdb_agent.errors import SandboxError
from pdb_agent.sandboxes import seccomp

HERE = platform.machine()
SOME_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
MACHINES = sorted(seccomp.AUDIT_ARCHITECTURES)

PREAMBLE = """
import ctypes, errno, json, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
code = bytes.fromhex(sys.argv[1])
instructions = ctypes.create_string_buffer(code, len(code))
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(instructions)), 0, 0) == 0

def outcome(call, *arguments):
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(call), *arguments) < 0 else 0

def attempt(action):
    try:
        action()
    except OSError as error:
        return error.errno
    return 0
"""


def under_filter(body, families=SOME_FAMILIES):
    """Run ``body`` in a process with the filter; its value is the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", PREAMBLE + body, seccomp.program(families=families).hex()],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def interpret(code, data):
    """What the kernel would answer; classic BPF as far as the filter uses it."""
    instructions = list(struct.iter_unpack("=HBBI", code))
    accumulator, position = 0, 0
    while True:
        operation, then, otherwise, value = instructions[position]
        position += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, value)[0]
            case 0x06:
                return value
            case _:
                held = {
                    0x15: accumulator == value,
                    0x35: accumulator >= value,
                    0x45: bool(accumulator & value),
                }[operation]
                position += then if held else otherwise


def verdict(machine, number, *arguments, architecture=None, families=SOME_FAMILIES):
    architecture = seccomp.AUDIT_ARCHITECTURES[machine] if architecture is None else architecture
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, architecture, 0, *padded)
    return interpret(seccomp.program(families=families, machine=machine), data)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_forbidden_call_is_refused_whatever_its_arguments(machine):
    numbers = [call.number(machine) for call in seccomp.FORBIDDEN]
    refused = [verdict(machine, number, 1 << 40, 7) for number in numbers if number is not None]
    assert refused == [seccomp.REFUSE | errno.EPERM] * len(refused)
    assert len(refused) > 70


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_is_listed_twice(machine):
    numbers = [number for call in seccomp.FORBIDDEN if (number := call.number(machine)) is not None]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_ends_the_process(machine):
    assert verdict(machine, 1, architecture=0x40000003) == seccomp.KILL_PROCESS


def test_calls_of_the_x32_interface_do_not_exist():
    assert verdict("x86_64", 0x40000000 + 165) == seccomp.REFUSE | errno.ENOSYS
    assert verdict("x86_64", 0xFFFFFFFF) == seccomp.REFUSE | errno.ENOSYS


@pytest.mark.parametrize(("machine", "clone"), [("x86_64", 56), ("aarch64", 220)])
@pytest.mark.parametrize("flag", [1 << bit for bit in (17, 25, 26, 27, 28, 29, 30)])
def test_no_clone_flag_makes_a_namespace(machine, clone, flag):
    assert verdict(machine, clone, flag | signal.SIGCHLD) == seccomp.REFUSE | errno.EPERM


@pytest.mark.parametrize(("machine", "clone"), [("x86_64", 56), ("aarch64", 220)])
def test_forks_and_threads_are_allowed(machine, clone):
    fork, thread = 0x01200011, 0x003D0F00
    assert verdict(machine, clone, fork) == verdict(machine, clone, thread) == seccomp.ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_clone3_does_not_exist_because_its_flags_cannot_be_seen(machine):
    assert verdict(machine, 435) == seccomp.REFUSE | errno.ENOSYS


@pytest.mark.parametrize(("machine", "call"), [("x86_64", 41), ("aarch64", 198)])
def test_a_socket_is_of_an_allowed_family_only(machine, call):
    allowed = [f for f in range(64) if verdict(machine, call, f, families=(1, 10)) == seccomp.ALLOW]
    assert allowed == [1, 10]
    assert verdict(machine, call, 40) == seccomp.REFUSE | errno.EAFNOSUPPORT
    assert verdict(machine, call, 1, families=()) == seccomp.REFUSE | errno.EAFNOSUPPORT


@pytest.mark.parametrize(("machine", "call"), [("x86_64", 16), ("aarch64", 29)])
def test_nothing_can_be_typed_into_a_terminal(machine, call):
    assert verdict(machine, call, 0, 0x5412) == seccomp.REFUSE | errno.EPERM
    # The kernel looks at the low word of a control, and so must the filter.
    assert verdict(machine, call, 0, 0x5412 | 1 << 32) == seccomp.REFUSE | errno.EPERM
    assert verdict(machine, call, 0, 0x5413) == seccomp.ALLOW


def shared_verdict(machine, number, *arguments, may_signal=False):
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, seccomp.AUDIT_ARCHITECTURES[machine], 0, *padded)
    return interpret(seccomp.shared_user_program(may_signal=may_signal, machine=machine), data)


@pytest.mark.parametrize(("machine", "call"), [("x86_64", 54), ("aarch64", 208)])
def test_the_size_of_a_sockets_buffer_is_a_wish_that_is_not_granted(machine, call):
    send_buffer, keep_alive, tcp_option = (0, 1, 7), (0, 1, 9), (0, 6, 7)
    assert verdict(machine, call, *send_buffer) == seccomp.REFUSE
    assert verdict(machine, call, *keep_alive) == seccomp.ALLOW
    assert verdict(machine, call, *tcp_option) == seccomp.ALLOW


@pytest.mark.parametrize(("machine", "kill", "tgkill"), [("x86_64", 62, 234), ("aarch64", 129, 131)])
def test_beside_the_hosts_processes_a_program_signals_its_own_group_only(machine, kill, tgkill):
    refused = seccomp.REFUSE | errno.EPERM
    everybody = (1 << 64) - 1
    assert [shared_verdict(machine, kill, pid) for pid in (0, 1, 4711, everybody)] == [
        seccomp.ALLOW,
        refused,
        refused,
        refused,
    ]
    assert shared_verdict(machine, tgkill, 1, 1, 9) == refused
    assert shared_verdict(machine, kill, 4711, may_signal=True) == seccomp.ALLOW


@pytest.mark.parametrize(("machine", "prlimit", "fchmodat"), [("x86_64", 302, 268), ("aarch64", 261, 53)])
def test_beside_the_hosts_files_modes_are_pretended_and_limits_ones_own(machine, prlimit, fchmodat):
    assert shared_verdict(machine, fchmodat, 0, 0, 0o777, may_signal=True) == seccomp.REFUSE
    assert shared_verdict(machine, prlimit, 0, 7, may_signal=True) == seccomp.ALLOW
    assert shared_verdict(machine, prlimit, 4711, 7, may_signal=True) == seccomp.REFUSE | errno.EPERM


def test_an_unknown_machine_is_refused_with_the_next_step():
    with pytest.raises(SandboxError, match=r"riscv64.*--backend container"):
        seccomp.program(families=(), machine="riscv64")


@pytest.mark.skipif(
    HERE not in seccomp.AUDIT_ARCHITECTURES, reason="the filter knows no number of this machine"
)
class TestLoaded:
    def test_the_kernel_refuses_each_forbidden_call(self):
        # With arguments of zero several would fail with EPERM in any unprivileged process; but none of these.
        names = {
            "keyctl",
            "memfd_create",
            "name_to_handle_at",
            "kcmp",
            "personality",
            "io_uring_setup",
            "msgget",
        }
        numbers = {call.name: call.number(HERE) for call in seccomp.FORBIDDEN if call.name in names}
        answers = under_filter(
            f"print(json.dumps({{name: outcome(call, 0, 0, 0, 0) for name, call in {numbers!r}.items()}}))"
        )
        assert answers == dict.fromkeys(names, errno.EPERM)

    def test_new_namespaces_vsock_and_terminal_injection_are_refused(self):
        clone = 56 if HERE == "x86_64" else 220
        ioctl = 16 if HERE == "x86_64" else 29
        unshare = 272 if HERE == "x86_64" else 97
        answers = under_filter(
            f"print(json.dumps([outcome({clone}, 0x10000011, 0, 0, 0, 0), outcome(435, 0, 0),"
            f" outcome({unshare}, 0x10000000), outcome({ioctl}, 0, 0x5412, 0),"
            " attempt(lambda: socket.socket(socket.AF_VSOCK)),"
            " attempt(lambda: socket.socket(socket.AF_NETLINK))]))"
        )
        assert answers == [
            errno.EPERM,
            errno.ENOSYS,
            errno.EPERM,
            errno.EPERM,
            errno.EAFNOSUPPORT,
            errno.EAFNOSUPPORT,
        ]

    def test_descriptors_threads_and_children_work_without_any_socket_family(self):
        body = """
import signal, subprocess, threading
ours, theirs = socket.socketpair()
reading, writing = os.pipe()
socket.send_fds(ours, [b"x"], [writing])
_, (received,), _, _ = socket.recv_fds(theirs, 1, 1)
os.write(received, b"through")
said = []
thread = threading.Thread(target=lambda: said.append(os.read(reading, 7).decode()))
thread.start(); thread.join()
child = subprocess.run([sys.executable, "-I", "-S", "-c", "print(42)"], capture_output=True, text=True)
signalfd = outcome(SIGNALFD4, -1, ctypes.byref(ctypes.c_uint64(1)), 8, 0)
print(json.dumps([said, child.stdout, attempt(socket.socket), signalfd]))
"""
        body = body.replace("SIGNALFD4", "289" if HERE == "x86_64" else "74")
        assert under_filter(body, families=()) == [["through"], "42\n", errno.EAFNOSUPPORT, 0]

    @pytest.mark.skipif(HERE != "x86_64", reason="the 32-bit interface belongs to x86_64")
    def test_the_32_bit_interface_ends_the_process(self):
        # mov eax, 20 (getpid); int 0x80; ret
        body = """
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""
        code = seccomp.program(families=()).hex()
        done = subprocess.run(
            [sys.executable, "-I", "-c", PREAMBLE + body, code], capture_output=True, timeout=20
        )
        assert done.returncode == -signal.SIGSYS


def test_the_program_is_small_enough_for_the_kernel():
    assert all(len(seccomp.program(families=range(40), machine=machine)) < 4096 * 8 for machine in MACHINES)
