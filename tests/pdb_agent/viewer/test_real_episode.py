"""The oracle debugs a real task through the real tools, and the page follows it."""

from pathlib import Path

import pytest
from pdb_agent.episode import EpisodeLog, read_episode
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.task_files import load_task
from pdb_agent.toolsets import Toolset, ToolsetName
from pdb_agent.viewer.build import build_page
from pdb_agent.viewer.records import EpisodeView
from pdb_agent.viewer.timeline import view_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
TASK = Path("tasks/reentrant_lock_owner")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def last_text(view: EpisodeView, path: str) -> str:
    lines = view.sources[path][view.moments[-1].versions[path]]
    return "".join("".join(view.lines[index][1::2]) + "\n" for index in lines)


@pytest.mark.parametrize("name", [ToolsetName.DEBUG, ToolsetName.COMPOUND, ToolsetName.CODING_TOOLS])
async def test_the_page_follows_a_real_episode(name: ToolsetName, tmp_path: Path):
    task = load_task(TASK)
    file = tmp_path / "episode.jsonl"
    with EpisodeLog(file) as log:
        settings = EpisodeSettings(arm=name, toolset=Toolset(name=name))
        await run_episode(task, OraclePolicy(task), settings, log)
    episode = read_episode(file)
    view = view_of(episode)
    assert view.outcome.solved is True
    assert episode.ended is not None
    for path, text in episode.ended.final.items():
        assert last_text(view, path).rstrip("\n") == text.rstrip("\n")
    if name is not ToolsetName.CODING_TOOLS:
        assert task.witness is not None
        stop = task.witness.stops[0]
        stopped = [one for one in view.moments if one.debugging.reason == "breakpoint"]
        assert {one.path for one in stopped} == {stop.file}
        assert all(any(bound.is_hit for bound in one.debugging.breakpoints) for one in stopped)
        looked = {look.expression: look.value for look in stopped[-1].debugging.looks}
        assert looked == {value.expression: value.buggy for value in stop.values}
    out = tmp_path / "page.html"
    build_page([episode], out)
    page = out.read_text(encoding="utf-8")
    hidden = "".join(content.decode() for content in task.hidden.values())
    names = [
        line.split("(")[0].removeprefix("def ")
        for line in hidden.splitlines()
        if line.startswith("def test_")
    ]
    assert names
    assert not any(one in page for one in names)
