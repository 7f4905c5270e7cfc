"""The scene notices when something happens to it."""

import os
import signal
import socket
import subprocess

import pytest
from pdb_agent.sandboxes.attacks.scene import UNTOUCHED_STATES, VICTIM_FILES, set_scene
from pdb_agent.sandboxes.attacks.survivors import end_marked, marked


@pytest.fixture
def scene():
    with set_scene(os.geteuid()) as made:
        yield made


def test_the_victim_is_seen_to_be_stopped_and_gone(scene):
    assert scene.victim_state() in UNTOUCHED_STATES
    assert scene.victim_limit() == VICTIM_FILES
    os.kill(scene.victim.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, scene.victim.pid, os.WSTOPPED | os.WNOWAIT)
    assert scene.victim_state() == "T"
    scene.victim.kill()
    scene.victim.wait()
    assert scene.victim_state() == ""


def test_a_caller_is_noticed_at_the_listener_that_it_came_to(scene):
    with socket.create_connection(scene.listeners.tcp.getsockname()), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(scene.listeners.path.getsockname())
        reached = [name for name in ("tcp", "udp", "abstract", "path") if scene.listeners.reached(name)]
    assert reached == ["tcp", "path"]


def test_a_changed_mode_of_the_key_is_noticed(scene):
    assert scene.key_is_untouched()
    scene.key.chmod(0o777)
    assert not scene.key_is_untouched()


def test_what_is_left_on_the_host_is_found_and_removed(scene):
    (scene.folder / "left-behind").touch()
    assert scene.strays("left-behind") == [str(scene.folder / "left-behind")]
    scene.clear("left-behind")
    assert scene.strays("left-behind") == []


def test_nothing_of_a_scene_stays(scene):
    with set_scene(os.geteuid()) as other:
        folder, pid = other.folder, other.victim.pid
    assert not folder.exists()
    assert marked(other.secret) == set()
    assert pid != scene.victim.pid


def test_a_marked_process_is_found_until_it_is_ended():
    marker = f"marker-{os.getpid()}"
    process = subprocess.Popen(["sh", "-c", "echo; read line", marker], stdin=-1, stdout=-1)
    assert process.stdout is not None
    process.stdout.readline()
    assert marked(marker) == {process.pid}
    end_marked(marker)
    process.communicate()
    assert (process.returncode, marked(marker)) == (-9, set())
