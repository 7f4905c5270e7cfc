"""Two ends of a container's door; run as a script, standard library only, Python 3.10+.

``hold SETTINGS`` runs on the host: it listens on a Unix socket in a folder that the
container sees, starts the engine's command, lets in exactly one caller, hands it the
agent's two sockets, closes the door, and removes the container in the end. The engine's
own processes do not end with whoever started them, so this one sees to that.

``enter DOOR WORKSPACE FILTER LIMIT…`` runs in the container: it takes the sockets, drops
the system calls that nobody needs, and becomes the agent (``inside``, in the same folder).
"""

import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER = 22, 36
ENTER_SECONDS = 60.0
LOOK_SECONDS = 0.2
REMOVE_SECONDS = 20.0
REMOVE_ATTEMPTS = 3


def hold(settings: "dict[str, Any]") -> int:
    """Start the container, hand over the sockets, and see to its end."""
    host = os.getppid()
    # What the engine leaves behind becomes our child, and so stays below the host's process.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    door = settings["door"]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(door)
        os.chmod(door, 0o666)  # noqa: PTH101 - its folder lies in one that is ours alone
        listener.listen(1)
        engine = subprocess.Popen(
            settings["command"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
        has_entered = _let_in(listener, engine, settings)
    os.unlink(door)  # noqa: PTH108 - few imports
    for descriptor in (settings["control"], settings["files"]):
        os.close(descriptor)
    while has_entered and engine.poll() is None and os.getppid() == host:
        try:
            engine.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            pass
    if engine.poll() is None:
        engine.kill()
    _remove(settings["remove"])
    return engine.wait()


def _let_in(listener: socket.socket, engine: "subprocess.Popen[bytes]", settings: "dict[str, Any]") -> bool:
    """Wait for the one caller; False when the engine ends first, or takes too long."""
    listener.settimeout(LOOK_SECONDS)
    give_up = time.monotonic() + ENTER_SECONDS
    while engine.poll() is None and time.monotonic() < give_up:
        try:
            caller, _ = listener.accept()
        except TimeoutError:
            continue
        with caller:
            socket.send_fds(caller, [b"+"], [settings["control"], settings["files"]])
        return True
    return False


def _remove(command: "list[str]") -> None:
    """Remove the container; an engine that is just noticing its end may need to be told again."""
    for _ in range(REMOVE_ATTEMPTS):
        done = subprocess.run(
            command,
            check=False,
            timeout=REMOVE_SECONDS,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if done.returncode == 0:
            return


def enter(door: str, workspace: str, code: bytes, limits: "list[str]") -> None:
    """Become the agent."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(door)
        _, (control, files), _, _ = socket.recv_fds(connection, 1, 2)
    instructions = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, 2, header, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - few imports
    inside = __import__("inside")

    inside.main(control, files, workspace, limits)


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        sys.exit(hold(json.loads(sys.argv[2])))
    enter(sys.argv[2], sys.argv[3], bytes.fromhex(sys.argv[4]), sys.argv[5:])
