"""A thread that stands still, and every question that can be asked of it.

Everything here runs in the stopped thread. Frames are counted from the
innermost visible one; frames of libraries are left out unless no other exist.
"""

from __future__ import annotations

from functools import partial

from . import inspector, pdb_commands, source_lines, user_code
from .code_registry import is_own_code
from .deadline import Deadline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_FRAMES = 5000
_SUMMARY_CHARS = 200
_COMMAND_SECONDS = 5.0
_MESSAGE_SECONDS = 2.0
_THREAD_FRAMES = 30


class Refused(Exception):
    """The question cannot be answered; the text says what to do."""


class StoppedThread:
    """One stop: the frames of a thread and the answers about them."""

    def __init__(self, agent, frames, ident, alive=True):
        self.agent = agent
        self.ident = ident
        self.alive = alive
        self.exception: BaseException | None = None
        """What was raised, in a stop after a failure; evaluated code knows it as ``__exception__``."""
        self.frames = _visible(frames, keep_top=alive)
        self._pdb = None

    @property
    def top(self):
        """The innermost visible frame."""
        return self.frames[0][0]

    def frame(self, index):
        """The frame with this index. Raises Refused."""
        if not 0 <= index < len(self.frames):
            raise Refused(
                "There is no frame %d; frames go from 0 (innermost) to %d, where_am_i lists them."
                % (index, len(self.frames) - 1)
            )
        return self.frames[index][0]

    # -- answers ------------------------------------------------------------------------

    def stack(self, limit):
        """Visible frames, innermost first, equal neighbours folded."""
        described: list[Any] = []
        for index, (frame, line) in enumerate(self.frames):
            location = self.location(frame, line)
            if described and described[-1]["location"] == location:
                described[-1]["repeated"] += 1
                continue
            if len(described) >= limit:
                break
            file = location["file"]
            described.append(
                {
                    "index": index,
                    "location": location,
                    "source": _line_text(file, location["line"]),
                    "is_user": user_code.is_user_code(file),
                    "repeated": 1,
                }
            )
        return {"frames": described, "depth": len(self.frames)}

    def among(self, threads):
        """The threads of ``stacks.thread_stacks``, this one with the stack of its failure."""
        if self.alive:
            return threads
        stack: Any = self.stack(_THREAD_FRAMES)
        frames = [
            dict(frame["location"], **{key: frame[key] for key in ("source", "is_user", "repeated")})
            for frame in stack["frames"]
        ]
        failed = {"frames": frames, "waits_on": None}
        return [dict(thread, **failed) if thread["ident"] == self.ident else thread for thread in threads]

    def location(self, frame, line):
        """File, line and function of a frame."""
        code = frame.f_code
        return {
            "file": user_code.canonical(code.co_filename),
            "line": line or code.co_firstlineno,
            "function": self.agent.tracer.registry.qualname(code),
        }

    def examine_locals(self, frame, name_filter, cursor, limit_chars):
        """A page of a frame's names."""
        found = self.frame(frame)
        return inspector.describe_locals(found.f_locals, found.f_code, name_filter, cursor, limit_chars)

    def print_variable(self, path, frame, depth, cursor, limit_chars):
        """One value, opened."""
        found = self.frame(frame)
        answer = inspector.describe_value(found.f_locals, found.f_globals, path, depth, cursor, limit_chars)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    def evaluate(self, code, frame, timeout_seconds, limit_chars, on_stuck):
        """Evaluate or execute in a frame, under a deadline."""
        found = self.frame(frame)
        before = inspector.snapshot(found.f_locals, found.f_code)
        names = found.f_locals
        if self.exception is not None:
            names = dict(names, __exception__=self.exception)

        def run():
            return inspector.evaluate(code, found.f_globals, names, limit_chars, found.f_code)

        try:
            result, bindings = self.agent.watchdog.run(run, timeout_seconds, on_stuck)
        except Deadline:
            return {
                "value": None,
                "error": "TimeoutError: it did not finish within %g s and was interrupted; the program still "
                "stands where it stood%s" % (timeout_seconds, self._held_hint()),
            }
        if bindings:
            inspector.write_back(found, bindings)
        after = inspector.snapshot(found.f_locals, found.f_code)
        self.agent.remember_frame(found, after)
        result["changes"] = inspector.diff(before, after)
        return result

    def _held_hint(self):
        if self.agent.tracer.holding is None:
            return ""
        return " (other threads are held while one is stopped, so waiting for them cannot end)"

    def set_variable(self, path, expression, frame, on_stuck=None):
        """Assign the value of an expression to a place."""
        return self.evaluate("%s = (%s)" % (path, expression), frame, 5.0, 500, on_stuck)

    def pdb_command(self, command, frame, limit_chars, on_stuck=None):
        """Run an inspecting pdb command in a real ``pdb.Pdb`` set up on the frame."""
        if self._pdb is None:
            self._pdb = pdb_commands.PdbAtStop([entry[0] for entry in self.frames])
        self.frame(frame)
        real_pdb = self._pdb

        def run():
            return real_pdb.run(command, frame, limit_chars)

        try:
            return {"text": self.agent.watchdog.run(run, _COMMAND_SECONDS, on_stuck)}
        except Deadline:
            return {"text": "The command did not finish within %g s and was interrupted." % _COMMAND_SECONDS}

    # -- the report ---------------------------------------------------------------------

    def report(self):
        """The fields that every stop shows."""
        frame, line = self.frames[0]
        location: Any = self.location(frame, line)
        caller = self.location(*self.frames[1]) if len(self.frames) > 1 else None
        changes = self.agent.changes_in(frame)
        return {
            "thread": self.agent.thread_name(self.ident),
            "thread_ident": self.ident,
            "location": location,
            "source": source_lines.source_window(location["file"], location["line"], 2),
            "called_from": caller,
            "depth": len(self.frames),
            "changes": changes[:20],
            "changes_omitted": max(0, len(changes) - 20),
            "can_step": self.alive,
        }


def describe_failure(watchdog, exc_type, exc, traceback):
    """An exception in words; its message is code of the program and has a deadline."""
    describe = partial(inspector.describe_exception, exc_type, exc, traceback)
    try:
        return watchdog.run(describe, _MESSAGE_SECONDS)
    except Deadline:
        described = inspector.describe_exception(exc_type, None, traceback)
        described["message"] = "<str() of it did not finish within %g s>" % _MESSAGE_SECONDS
        return described


def frames_from(frame):
    """A running frame and its callers, innermost first, with their lines."""
    frames = []
    while frame is not None and len(frames) < _MAX_FRAMES:
        frames.append((frame, frame.f_lineno))
        frame = frame.f_back
    return frames


def frames_of_traceback(traceback):
    """The frames an exception passed through and their callers, innermost first."""
    passed = []
    outermost = traceback.tb_frame.f_back
    while traceback is not None and len(passed) < _MAX_FRAMES:
        passed.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    passed.reverse()
    return passed + frames_from(outermost)


def _visible(frames, keep_top):
    theirs = [entry for entry in frames if not is_own_code(entry[0].f_code.co_filename)]
    visible = [entry for entry in theirs if user_code.is_user_code(entry[0].f_code.co_filename)]
    if theirs and keep_top and (not visible or visible[0] is not theirs[0]):
        visible.insert(0, theirs[0])
    return visible or theirs or frames[:1]


def returned_text(qualname, value):
    """``name() -> value``."""
    return "%s() -> %s" % (qualname, inspector.summarize(value, _SUMMARY_CHARS))


def _line_text(file, line):
    window = source_lines.source_window(file, line, 0)
    return str(window[0][1]).strip() if window else ""
