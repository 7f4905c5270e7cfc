"""Episodes written to a file and read back."""

import json
from dataclasses import replace
from pathlib import Path

from pdb_agent.episode import Episode, EpisodeLog, Unlocked, read_episode

from tests.pdb_agent.episode_making import TOOLS, act, done, edit, unlocking


def written(made: Episode, path: Path) -> Path:
    assert made.ended is not None
    with EpisodeLog(path) as log:
        for event in (made.started, *made.events, made.ended):
            log.append(event)
    return path


def test_tools_that_appear_are_read_back_with_the_turn_that_brought_them(tmp_path: Path):
    made = unlocking([[edit()], [edit()], [act("start_debugger")], [done()]], turn=2)
    found = read_episode(written(made, tmp_path / "0.jsonl"))
    assert found.tools == made.tools
    assert tuple(tool.name for tool in found.tools) == TOOLS
    assert [(event.turn, event.tools) for event in found.events if isinstance(event, Unlocked)] == [
        (2, TOOLS[5:])
    ]


def test_a_file_from_before_tools_that_appear_were_written_down_is_read(tmp_path: Path):
    made = unlocking([[edit()], [done()]], turn=1)
    made = replace(made, events=tuple(one for one in made.events if not isinstance(one, Unlocked)))
    path = written(made, tmp_path / "0.jsonl")
    first, rest = path.read_text("utf-8").split("\n", 1)
    start = json.loads(first)
    del start["later_tools"]
    path.write_text(json.dumps(start) + "\n" + rest, "utf-8")
    found = read_episode(path)
    assert found.started == replace(made.started, later_tools=())
    assert found.tools == made.started.tools
    assert (found.events, found.ended) == (made.events, made.ended)
