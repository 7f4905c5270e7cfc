"""What waits in sockets and lies in file systems in memory, counted on real ones."""

import os
import socket
from contextlib import ExitStack
from pathlib import Path

from pdb_agent.sandboxes.kernel_memory import FREE_SOCKETS, file_bytes, socket_bytes


def test_a_few_sockets_count_for_nothing():
    with ExitStack() as stack:
        for _ in range(4):
            for end in socket.socketpair():
                stack.enter_context(end)
        assert socket_bytes([os.getpid()]) == 0


def test_many_sockets_count_as_full_and_once_only():
    with ExitStack() as stack:
        for _ in range(FREE_SOCKETS):
            for end in socket.socketpair():
                stack.enter_context(end)
        full = socket_bytes([os.getpid()])
        assert full >= FREE_SOCKETS * 64 * 1024
        # A child has its parent's sockets, and would hold nothing of its own in them.
        assert socket_bytes([os.getpid(), os.getpid()]) == full


def test_a_process_that_is_gone_holds_nothing():
    assert socket_bytes([1 << 22]) == 0
    assert file_bytes(1 << 22, Path("/tmp")) == 0


def test_files_of_the_host_itself_are_not_counted():
    assert file_bytes(os.getpid(), Path("/tmp")) == 0
