"""Holds a sandbox that is made of Landlock rules; started by path, standard library only, Python 3.10+.

The one argument is a JSON object (see ``landlock.Settings``). Three kinds of process
come of it:

- The *holder*, this one, stays outside the rules. It is the last subreaper above
  everything inside and ends it all when the agent or the host ends.
- The *agent* (``inside``) and its reaper live in a first domain: of the file system they
  see what programs see, and /proc, which the reaper needs.
- Each *program* enters a second domain of its own just before it is started. It sees no
  /proc, and from Landlock's sixth version on it can signal nobody outside, the agent
  included. Where the kernel is older and the user is not the sandbox's alone, a further
  filter refuses signals.
"""

import ctypes
import json
import os
import signal
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, NoReturn

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
MAKE_CHAR, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = 1 << 6, 1 << 9, 1 << 10, 1 << 11, 1 << 12
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
FILE_ACCESS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
READ = EXECUTE | READ_FILE | READ_DIR
NOT_TEMPORARY = MAKE_CHAR | MAKE_BLOCK | IOCTL_DEVICE
NOT_WORKSPACE = NOT_TEMPORARY | MAKE_SYM | MAKE_SOCK | MAKE_FIFO
"""The host looks into the workspace: nothing there may lead it elsewhere or keep it waiting."""
ACCESSES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Which accesses each version of Landlock knows."""
NETWORK_SINCE, SCOPES_SINCE = 4, 6
ALL_TCP, ALL_SCOPES = 3, 3
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = (
    1,
    4,
    36,
    38,
    22,
)
LOOK_SECONDS = 0.5
"""How often the holder looks whether the host still lives."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_libc = ctypes.CDLL(None, use_errno=True)


def abi_version() -> int:
    """Landlock's version in this kernel; 0 where there is none."""
    found = _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    return max(int(found), 0)


def main(settings: "dict[str, Any]") -> None:
    """Start the agent inside, and hold it."""
    sys.path.insert(0, settings["code"])
    inside = __import__("inside")
    import reaper  # pyright: ignore[reportMissingImports] - mcp_pdb's, in the same folder

    host = os.getppid()
    control, files = settings["control"], settings["files"]
    _checked(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    _checked(_libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
    _checked(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    holder = os.getpid()
    if os.fork() == 0:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            _give_up_rights(settings)
            _checked(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
            if os.getppid() == holder:
                _enter(settings, reaper)
                inside.main(control, files, settings["workspace"], settings["limits"])
        except OSError as error:
            sys.stderr.write(f"the sandbox cannot be entered: {error}\n")
        finally:
            os._exit(1)
    os.close(control)
    os.close(files)
    _hold(host, reaper)


def _hold(host: int, reaper: "ModuleType") -> None:
    """Wait until the agent or the host has ended, then kill everything below."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.getppid() == host:
        signal.sigtimedwait({signal.SIGCHLD}, LOOK_SECONDS)
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                break  # the agent, or an orphan of an agent that is gone
        except ChildProcessError:
            break
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        for _ in reaper._sweep(reaper.ChildAlarm(), set()):
            pass
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break


def _give_up_rights(settings: "dict[str, Any]") -> None:
    if settings["uid"] is not None:
        os.setgroups([])
        os.setresgid(settings["uid"], settings["uid"], settings["uid"])
        os.setresuid(settings["uid"], settings["uid"], settings["uid"])
        # The change made this process one that its own children may look into again.
        _checked(_libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))


def _enter(settings: "dict[str, Any]", reaper: "ModuleType") -> None:
    """Enter the agent's domain, and let each program enter one of its own."""
    version = min(abi_version(), settings["abi_limit"])
    for_programs = _ruleset(version, settings, settings["readable"])
    for_agent = _ruleset(version, settings, [*settings["readable"], "/proc"])
    program_filter = bytes.fromhex(settings["program_filter"])
    start = reaper._become_program

    def start_in_domain(
        request: "dict[str, Any]", descriptors: "list[int]", report: int, keeper: int
    ) -> "NoReturn":
        try:
            _checked(_libc.syscall(RESTRICT_SELF, for_programs, 0))
            if program_filter:
                _filter(program_filter)
        except OSError as error:
            os.write(report, json.dumps([error.errno, "domain"]).encode())
            os._exit(127)
        start(request, descriptors, report, keeper)
        os._exit(127)

    reaper._become_program = start_in_domain  # pyright: ignore[reportAttributeAccessIssue]
    _checked(_libc.syscall(RESTRICT_SELF, for_agent, 0))
    os.close(for_agent)
    _filter(bytes.fromhex(settings["filter"]))


def _ruleset(version: int, settings: "dict[str, Any]", readable: "Sequence[str]") -> int:
    """A descriptor of the rules, which restrict nobody yet."""
    known = max((number for number in ACCESSES if number <= version), default=1)
    handled = ACCESSES[known]
    fields = [handled]
    if version >= NETWORK_SINCE:
        fields.append(ALL_TCP)
    if version >= SCOPES_SINCE:
        fields.append(ALL_SCOPES)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    size = ctypes.c_size_t(len(attributes))
    ruleset = _checked(_libc.syscall(CREATE_RULESET, attributes, size, 0))
    for path in readable:
        _allow(ruleset, path, READ & handled)
    for path in DEVICES:
        _allow(ruleset, path, (READ_FILE | WRITE_FILE) & handled)
    _allow(ruleset, settings["workspace"], handled & ~NOT_WORKSPACE)
    _allow(ruleset, settings["temporary"], handled & ~NOT_TEMPORARY)
    return ruleset


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):
        access &= FILE_ACCESS
    rule = struct.pack("=Qi", access, descriptor)
    try:
        _checked(_libc.syscall(ADD_RULE, ruleset, 1, rule, 0))
    finally:
        os.close(descriptor)


def _filter(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    _checked(_libc.prctl(PR_SET_SECCOMP, 2, header, 0, 0))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
