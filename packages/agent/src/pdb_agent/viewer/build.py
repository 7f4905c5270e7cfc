"""Writes a page on which a person can watch one episode, or two side by side: one file, nothing to load."""

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from pdb_agent.episode import Episode
from pdb_agent.errors import AgentError
from pdb_agent.viewer.records import EpisodeView
from pdb_agent.viewer.timeline import view_of

MODULES = (
    "elements.js",
    "source.js",
    "story.js",
    "state.js",
    "positions.js",
    "player.js",
    "main.js",
)
"""In the order in which they can stand in one script."""
_IMPORT = re.compile(r"(?m)^import .*;\n")
_EXPORT = re.compile(r"(?m)^export (?=function|class|const)")
_SLOT = re.compile(r"\{(\w+)\}")
MOST_EPISODES = 2


class ViewerError(AgentError):
    """A page cannot be made of what was given; the message says of what it can."""


def build_page(episodes: Sequence[Episode], out: Path) -> None:
    """Write the page of one episode or of two. Raises ViewerError for another number, and OSError."""
    if not 1 <= len(episodes) <= MOST_EPISODES:
        raise ViewerError(f"A page shows one episode or two side by side, not {len(episodes)}: give those.")
    names = _names(episodes)
    views = [view_of(episode, name=name) for episode, name in zip(episodes, names, strict=True)]
    out.write_text(page_of(views), encoding="utf-8")


def page_of(views: Sequence[EpisodeView]) -> str:
    """The page as text."""
    style = _asset("style.css")
    script = "".join(_without_modules(_asset(name)) for name in MODULES)
    title = f"{views[0].task}: {' and '.join(view.name for view in views)}"
    parts = {
        "title": escape(title),
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
        "data": embedded([dataclasses.asdict(view) for view in views]),
    }
    return _SLOT.sub(lambda slot: parts[slot[1]], _asset("page.html"))


def embedded(value: object) -> str:
    """JSON that can stand in a script element, whatever its strings hold."""
    text = json.dumps(value, separators=(",", ":"))  # ASCII only, so no separator of lines is left either
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _names(episodes: Sequence[Episode]) -> list[str]:
    """What tells the episodes apart, and no more than that."""
    starts = [episode.started for episode in episodes]
    if len(starts) == 1:
        return [f"{starts[0].arm} · {starts[0].policy}"]
    candidates = (
        [one.arm for one in starts],
        [one.policy for one in starts],
        [f"{one.arm} · {one.policy}" for one in starts],
        [f"{one.arm} · {one.policy} · {one.number}" for one in starts],
    )
    apart = next((names for names in candidates if len(set(names)) == len(names)), None)
    return apart or [f"{name} ({number})" for number, name in enumerate(candidates[-1], start=1)]


def _asset(name: str) -> str:
    return (resources.files("pdb_agent.viewer") / "page" / name).read_text(encoding="utf-8")


def _without_modules(script: str) -> str:
    return _EXPORT.sub("", _IMPORT.sub("", script))


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
