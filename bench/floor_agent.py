"""The least a debugger inside the program can be: what the benchmark calls the floor.

Runs in the target's interpreter as ``floor_agent.py FD RULES KIND TARGET [ARGS...]``
and speaks JSON lines over the inherited socket. RULES picks how it watches:

``settrace``    a trace function that declines code without a breakpoint
``monitoring``  ``sys.monitoring`` (3.12+), line events for single code objects
``bdb``         the standard library's own rules, as ``pdb`` has them

No threads, no safety, no budgets: nothing here is meant to be used.
"""

import bdb
import json
import os
import runpy
import socket
import sys

PROJECT = os.environ["PWD"] + "/"


class Agent:
    """Commands at a stop, and what a stop means for the rules."""

    def __init__(self, channel):
        self.channel = channel
        self.reader = channel.makefile("rb")
        self.breakpoints = {tuple(item) for item in self.receive()["breakpoints"]}
        self.files = {file for file, _ in self.breakpoints}

    def receive(self):
        """The next command, or ``{"do": "continue"}`` once nobody listens."""
        line = self.reader.readline()
        return json.loads(line) if line else {"do": "continue"}

    def send(self, message):
        """One answer."""
        self.channel.sendall(json.dumps(message).encode() + b"\n")

    def holds_breakpoint(self, code):
        """Whether any breakpoint lies between the first and last line of ``code``."""
        file = code.co_filename
        if file not in self.files:
            return False
        lines = {line for _, _, line in code.co_lines() if line}
        return any((file, line) in self.breakpoints for line in lines)

    def stop(self, frame):
        """Answer commands at a stop; returns the one that moves on."""
        self.send({"file": frame.f_code.co_filename, "line": frame.f_lineno, "in": frame.f_code.co_name})
        while True:
            command = self.receive()
            if command["do"] == "locals":
                self.send({name: repr(value)[:200] for name, value in frame.f_locals.items()})
            elif command["do"] == "stack":
                self.send(stack_of(frame))
            elif command["do"] == "evaluate":
                self.send(repr(eval(command["code"], frame.f_globals, frame.f_locals))[:200])
            else:
                return command["do"]


def stack_of(frame):
    """``[function, line]`` from the innermost frame out."""
    frames = []
    while frame is not None:
        frames.append([frame.f_code.co_name, frame.f_lineno])
        frame = frame.f_back
    return frames


class SetTrace:
    """A trace function that returns None for code that nobody asked about."""

    def __init__(self, agent):
        self.agent = agent
        self.wanted = {}
        self.into = False
        self.stepping = None

    def install(self):
        sys.settrace(self.on_call)

    def on_call(self, frame, _event, _argument):
        code = frame.f_code
        wanted = self.wanted.get(code)
        if wanted is None:
            wanted = self.wanted[code] = self.agent.holds_breakpoint(code)
        if wanted or (self.into and code.co_filename.startswith(PROJECT)):
            return self.on_line
        return None

    def on_line(self, frame, event, _argument):
        if event == "return" and self.stepping is frame:
            self.stepping = frame.f_back
        elif event == "line" and self.is_stop(frame):
            self.move_on(frame, self.agent.stop(frame))
        return self.on_line

    def is_stop(self, frame):
        """Whether this line is where a step ends or a breakpoint is."""
        if self.into or self.stepping is frame:
            return True
        return (frame.f_code.co_filename, frame.f_lineno) in self.agent.breakpoints

    def move_on(self, frame, command):
        """Arm what the command needs."""
        self.into = command == "into"
        self.stepping = frame if command in ("into", "over") else None
        caller = frame.f_back
        if self.stepping is not None and caller is not None and caller.f_trace is None:
            caller.f_trace = self.on_line


class Monitoring:
    """Line events for the code objects that hold a breakpoint or are being stepped."""

    def __init__(self, agent):
        self.agent = agent
        self.tool = sys.monitoring.DEBUGGER_ID
        self.events = sys.monitoring.events
        self.into = False
        self.stepping = None

    def install(self):
        monitoring = sys.monitoring
        monitoring.use_tool_id(self.tool, "floor")
        monitoring.register_callback(self.tool, self.events.PY_START, self.on_start)
        monitoring.register_callback(self.tool, self.events.LINE, self.on_line)
        monitoring.register_callback(self.tool, self.events.PY_RETURN, self.on_return)
        monitoring.set_events(self.tool, self.events.PY_START)

    def on_start(self, code, _offset):
        if self.into and code.co_filename.startswith(PROJECT):
            self.watch(code)
            return None
        if self.agent.holds_breakpoint(code):
            self.watch(code)
        return sys.monitoring.DISABLE

    def watch(self, code):
        sys.monitoring.set_local_events(self.tool, code, self.events.LINE | self.events.PY_RETURN)

    def on_return(self, _code, _offset, _value):
        frame = sys._getframe(1)
        if self.stepping is frame:
            self.stepping = frame.f_back

    def on_line(self, code, line):
        frame = sys._getframe(1)
        hit = (code.co_filename, line) in self.agent.breakpoints
        if not (self.into or hit or self.stepping is frame):
            return
        command = self.agent.stop(frame)
        self.into = command == "into"
        self.stepping = frame if command in ("into", "over") else None
        if self.into:
            sys.monitoring.restart_events()
        if self.stepping is not None and frame.f_back is not None:
            self.watch(frame.f_back.f_code)


class StandardLibrary(bdb.Bdb):
    """``bdb`` as it comes."""

    def __init__(self, agent):
        super().__init__()
        self.agent = agent

    def install(self):
        for file, line in self.agent.breakpoints:
            self.set_break(file, line)
        self.botframe = sys._getframe(1)
        self.set_continue()
        sys.settrace(self.trace_dispatch)

    def user_line(self, frame):
        command = self.agent.stop(frame)
        actions = {"over": lambda: self.set_next(frame), "into": self.set_step}
        actions.get(command, self.set_continue)()


RULES = {"settrace": SetTrace, "monitoring": Monitoring, "bdb": StandardLibrary}


def main():
    """Install the rules and run the target to its end."""
    descriptor, rules, kind, target = sys.argv[1:5]
    agent = Agent(socket.socket(fileno=int(descriptor)))
    tracer = RULES[rules](agent)
    if kind == "pytest":
        import pytest

        tracer.install()
        pytest.main([target, "-q", "-p", "no:cacheprovider"])
    else:
        sys.argv[:] = sys.argv[4:]
        tracer.install()
        runpy.run_path(target, run_name="__main__")
    agent.send({"ended": True})


if __name__ == "__main__":
    main()
