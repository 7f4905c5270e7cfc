"""One DAP request of our own, ``mcpPdb``, answered inside the program by pydevd's reader thread.

Its ``op`` names a method ``op_…`` of the agent, which gets a ``Reply`` and may
answer later from another thread.
"""

from __future__ import annotations

import json
import sys
import threading

from .breakpoints import Rejected
from .pydevd_loading import send_at_once
from .stopped import Refused

COMMAND = "mcpPdb"
_CMD_RETURN = 502
_MARK = b'"' + COMMAND.encode("ascii") + b'"'


class Running(Exception):
    """The question is about a stopped program, and it runs."""


def answer_with(find_agent):
    """Have pydevd pass ``mcpPdb`` requests to the agent that ``find_agent(py_db)`` gives."""
    processor = sys.modules["_pydevd_bundle.pydevd_process_net_command_json"].PyDevJsonCommandProcessor
    if not getattr(processor, COMMAND, False):
        setattr(processor, COMMAND, True)
        processor.process_net_command_json = _answering(processor.process_net_command_json, find_agent)
    reader = getattr(sys.modules["pydevd"].get_global_debugger(), "reader", None)
    if reader is not None:
        send_at_once(reader.sock)
        bound = reader.process_net_command_json
        reader.process_net_command_json = processor.process_net_command_json.__get__(bound.__self__)


def _answering(original, find_agent):
    def process(self, py_db, contents, *rest, **options):
        if _MARK in contents:
            request = json.loads(contents.decode("utf-8"))
            if request.get("command") == COMMAND:
                _dispatch(find_agent(py_db), request)
                return None
        return original(self, py_db, contents, *rest, **options)

    return process


def _dispatch(agent, request):
    arguments = request.get("arguments") or {}
    reply = Reply(agent.py_db, request)
    try:
        result = getattr(agent, "op_" + arguments.pop("op"))(reply=reply, **arguments)
    except (Rejected, Refused) as error:
        reply.fail(str(error), "refused")
    except Running as error:
        reply.fail(str(error), "running")
    except Exception as error:
        reply.fail("%s: %s" % (type(error).__name__, error), "internal")
    else:
        if result is not None:
            reply.succeed(result)


class Reply:
    """Answers one request, once."""

    def __init__(self, py_db, request):
        self._py_db = py_db
        self._request = request
        self._sent = False

    def succeed(self, body):
        self._send({"success": True, "body": body})

    def fail(self, message, kind):
        """Refuse; as a success in DAP's terms, since adapters pass no body of a failure on."""
        self._send({"success": True, "body": {"refusal": {"kind": kind, "message": message}}})

    def _send(self, fields):
        if self._sent:
            return
        self._sent = True
        message = dict(fields, type="response", request_seq=self._request["seq"], command=COMMAND)
        write(self._py_db, message)


def write(py_db, message):
    """Queue a DAP message."""
    py_db.writer.add_command(make_command(message))


def make_command(message):
    """What pydevd's writer takes."""
    command = sys.modules["_pydevd_bundle.pydevd_net_command"].NetCommand
    return command(_CMD_RETURN, 0, message, is_json=True)


def flush(py_db, seconds=2.0):
    """Wait until what is queued has been sent, at most ``seconds``."""
    sent = threading.Event()
    command = make_command({"type": "event", "event": "mcpPdbFlushed"})
    command.call_after_send(lambda *unused: sent.set())
    py_db.writer.add_command(command)
    sent.wait(seconds)
