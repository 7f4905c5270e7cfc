"""What frames held when they were last looked at, to tell what changed."""

from __future__ import annotations

from . import inspector

_KEPT_FRAMES = 300


class FrameMemory:
    """Snapshots of frames, kept as text by the frame's address."""

    def __init__(self):
        self._snapshots = {}

    def forget_frame(self, frame):
        """A new frame lives at this address."""
        self._snapshots.pop(id(frame), None)

    def remember_frame(self, frame, snapshot):
        """Keep what a frame's names look like now, for the next stop in it."""
        while len(self._snapshots) >= _KEPT_FRAMES:
            self._snapshots.pop(next(iter(self._snapshots)))
        self._snapshots[id(frame)] = snapshot

    def changes_in(self, frame):
        """How a frame's names differ from its last stop, its arguments at the first; remembers them."""
        now = inspector.snapshot(frame.f_locals, frame.f_code)
        before = self._snapshots.get(id(frame))
        self.remember_frame(frame, now)
        if before is None:
            code = frame.f_code
            arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            return inspector.diff({}, {name: now[name] for name in arguments if name in now})
        return inspector.diff(before, now)
