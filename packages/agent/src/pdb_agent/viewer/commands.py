"""``pdb-agent view``: pages of episodes, from their files or from a run's folder."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TextIO

from pdb_agent.episode import Episode, read_episode
from pdb_agent.run_folder import RunFolder
from pdb_agent.viewer.build import MOST_EPISODES, ViewerError, build_page
from pdb_agent.viewer.outcome import outcome_of

INDEX = "index.html"
_INDEX_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Episodes</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>body {{ font: 16px/1.6 Charter, Georgia, serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.3rem }} li {{ margin: .15rem 0 }} ol {{ padding-left: 1.2rem }}</style>
</head><body><h1>Episodes</h1><ol>
{}
</ol></body></html>
"""


def view(paths: Sequence[Path], out: Path, stream: TextIO) -> int:
    """Write the page of one or two episodes' files to ``out``; the exit status.

    A run's folder instead gives a folder ``out``: a page for each task and number, its arms side by
    side, and an index. Raises ViewerError for anything else, EpisodeFileError for a file that is none.
    """
    if len(paths) == 1 and paths[0].is_dir():
        return _view_run(RunFolder(paths[0]), out, stream)
    missing = next((path for path in paths if not path.is_file()), None)
    if missing is not None or not 1 <= len(paths) <= MOST_EPISODES:
        what = f"{missing} is no file" if missing is not None else f"There are {len(paths)} paths"
        raise ViewerError(
            f"{what}: give one episode's file, two of them to see side by side, or a run's folder."
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    build_page([read_episode(path) for path in paths], out)
    stream.write(f"Open {out.resolve().as_uri()}\n")
    return 0


def _view_run(run: RunFolder, out: Path, stream: TextIO) -> int:
    if out.exists() and not out.is_dir():
        raise ViewerError(f"{out} is a file, and a run's pages need a folder: give another name.")
    groups: defaultdict[tuple[str, int], list[Episode]] = defaultdict(list)
    for slot, episode in run.episodes():
        groups[slot.task, slot.number].append(episode)
    if not groups:
        raise ViewerError(f"There are no episodes in {run.path}: give a run's folder or an episode's file.")
    out.mkdir(parents=True, exist_ok=True)
    items: list[str] = []
    for (task, number), episodes in sorted(groups.items()):
        for shown in _pages(episodes):
            arms = "-".join(episode.started.arm for episode in shown)
            name = _file_name(f"{task}-{number}-{arms}.html")
            build_page(shown, out / name)
            items.append(_item(name, f"{task} {number}", shown))
    (out / INDEX).write_text(_INDEX_PAGE.format("\n".join(items)), encoding="utf-8")
    stream.write(f"{len(items)} pages. Open {(out / INDEX).resolve().as_uri()}\n")
    return 0


def _pages(episodes: Sequence[Episode]) -> Iterator[Sequence[Episode]]:
    """The first arm beside each of the others; alone when there is no other."""
    first, *others = episodes
    if not others:
        yield [first]
    for other in others:
        yield [first, other]


def _item(name: str, title: str, episodes: Sequence[Episode]) -> str:
    words = {True: "solved", False: "not solved", None: "not graded"}
    outcomes = "; ".join(f"{one.started.arm} {words[outcome_of(one).solved]}" for one in episodes)
    return f'<li><a href="{escape(name)}">{escape(title)}</a> {escape(outcomes)}</li>'


def _file_name(text: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in text)
