"""Makes a report of runs: a page, a JSON document and a CSV file. Read this first of the folder."""

import base64
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pdb_agent.comparison import Comparison
from pdb_agent.metrics import ArmMetrics, arm_metrics
from pdb_agent.report import tables
from pdb_agent.report.collect import Run, Sources, TaskFacts, arms_of, read_run
from pdb_agent.report.comparisons import compare_arms, comparison_table, debugger_pairs, notable
from pdb_agent.report.conditions import conditions_table, findings
from pdb_agent.report.drawing import Figure
from pdb_agent.report.export import as_csv, as_json
from pdb_agent.report.figures_rates import (
    coverage_figure,
    pass_at_k_figure,
    solve_rate_figure,
    task_size_figure,
)
from pdb_agent.report.figures_turns import breakpoints_figure, distribution_figure, turns_figure
from pdb_agent.report.grid import Pages, grid_table, page_addresses
from pdb_agent.report.markup import Markup, tag
from pdb_agent.report.tables import Table, render
from pdb_agent.report.wording import listed
from pdb_agent.summary import EpisodeSummary

PAGE, DOCUMENT, EPISODES = "report.html", "report.json", "episodes.csv"
VIEWER = "viewer"
_SLOT = re.compile(r"\{(\w+)\}")

Arms = Mapping[str, Sequence[EpisodeSummary]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report is written from."""

    runs: Sequence[Run]
    arms: Arms
    """By the name that the report gives them."""
    metrics: Sequence[ArmMetrics]
    comparisons: Sequence[Comparison]
    tasks: Mapping[str, TaskFacts]


def build_report(runs: Sequence[Path], out: Path, sources: Sources | None = None) -> Report:
    """Write the report of some runs' folders to the folder ``out``. Raises ReportError, OSError."""
    report = gather([read_run(run, sources or Sources()) for run in runs])
    out.mkdir(parents=True, exist_ok=True)
    conditions = conditions_table(report.arms, report.runs)
    document = as_json(report.metrics, report.comparisons, conditions)
    (out / DOCUMENT).write_text(document, encoding="utf-8")
    (out / EPISODES).write_text(as_csv(report.arms), encoding="utf-8")
    (out / PAGE).write_text(page_of(report, viewer_pages(report, out)), encoding="utf-8")
    return report


def gather(runs: Sequence[Run]) -> Report:
    """All that is counted over runs."""
    arms = arms_of(runs)
    return Report(
        runs=runs,
        arms=arms,
        metrics=[arm_metrics(name, many) for name, many in arms.items()],
        comparisons=compare_arms(arms),
        tasks={name: facts for run in runs for name, facts in run.tasks.items()},
    )


def told(report: Report) -> list[str]:
    """What the report found, in sentences."""
    return findings(report.metrics, notable(report.comparisons, report.arms))


def viewer_pages(report: Report, out: Path) -> dict[str, Pages]:
    """Addresses of the viewer's pages, where there are any: beside the report, or in the run's folder."""
    found: dict[str, Pages] = {}
    for run in report.runs:
        addresses: dict[tuple[str, str, int], str] = {}
        for folder in (run.path / VIEWER, out / VIEWER):
            if folder.is_dir():
                names = [path.name for path in folder.glob("*.html")]
                relative = Path(os.path.relpath(folder, out)).as_posix()
                addresses |= page_addresses(names, relative, run.summaries)
        ids = {id(one) for one in run.summaries}
        found |= {
            name: Pages(addresses=addresses) for name, many in report.arms.items() if id(many[0]) in ids
        }
    return found


def page_of(report: Report, pages: Mapping[str, Pages]) -> str:
    """The page as text: one file that loads nothing."""
    style, script = _asset("page.css"), _asset("page.js")
    scored = sum(arm.rates.episodes for arm in report.metrics)
    began = sorted(one.began for many in report.arms.values() for one in many)
    parts = {
        "title": tag("span", f"Debugging report: {listed(list(report.arms))}"),
        "summary": tag("span", _counts(report, scored, began)),
        "findings": Markup.joined(tag("li", one) for one in told(report)),
        "figures": Markup.joined(map(_figure, _figures(report))),
        "sections": Markup.joined(_section(name, *many) for name, many in _sections(report, pages).items()),
        "unreadable": _unreadable(report.runs),
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
    }
    return _SLOT.sub(lambda slot: parts[slot[1]], _asset("page.html"))


def _counts(report: Report, scored: int, began: Sequence[str]) -> str:
    tasks = len({one.task for many in report.arms.values() for one in many})
    splits = sorted({one.split for many in report.arms.values() for one in many})
    days = sorted({text[:10] for text in began})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{scored} scored episodes of {tasks} tasks ({listed(splits)} split), {when}."


def _figures(report: Report) -> list[Figure]:
    scatters = [
        turns_figure((early, report.arms[early]), (late, report.arms[late]), f"turns-{place}")
        for place, (early, late) in enumerate(debugger_pairs(report.arms))
    ]
    figures = [
        solve_rate_figure(report.metrics),
        pass_at_k_figure(report.metrics),
        *scatters,
        distribution_figure(report.arms),
        coverage_figure(report.arms),
        breakpoints_figure(report.metrics),
        task_size_figure(report.tasks),
    ]
    return [figure for figure in figures if figure is not None]


def _sections(report: Report, pages: Mapping[str, Pages]) -> dict[str, list[Table]]:
    metrics = report.metrics
    debugger = tables.debugger_table(metrics)
    sections = {
        "Outcome and effort": [tables.outcome_table(metrics), tables.effort_table(metrics)],
        "Comparisons": [comparison_table(report.comparisons)] if report.comparisons else [],
        "Failures and endings": [tables.failure_table(metrics), *map(tables.ending_table, metrics)],
        "Debugger and discipline": [*([debugger] if debugger else []), tables.discipline_table(metrics)],
        "Tools": [tables.tool_table(metrics)],
        "Strata": [tables.strata_table(metrics, kind) for kind in ("preference", "difficulty", "family")],
        "Episodes": [grid_table(report.arms, pages)],
        "Conditions": [conditions_table(report.arms, report.runs)],
    }
    return {name: many for name, many in sections.items() if many}


def _section(name: str, *many: Table) -> Markup:
    notes: list[Markup] = []
    if name == "Episodes":
        words = (
            "● solved, ◐ edited but not solved, ○ never edited, × not scored; "
            "underlined where the debugger was opened."
        )
        notes.append(tag("p", words, class_="note"))
    identifier = name.lower().replace(" ", "-")
    return tag(
        "section",
        tag("h2", name),
        *notes,
        tag("div", *map(render, many), class_="tables"),
        id=identifier,
        aria_label=name,
    )


def _figure(figure: Figure) -> Markup:
    heading = tag("h3", figure.title)
    return tag(
        "figure", heading, figure.drawing, tag("figcaption", figure.caption), id=f"figure-{figure.name}"
    )


def _unreadable(runs: Sequence[Run]) -> Markup:
    files = [str(path.relative_to(run.path)) for run in runs for path in run.unreadable]
    if not files:
        return Markup("")
    return tag("p", f"Left out, because they cannot be read: {listed(files)}.", class_="note")


def _asset(name: str) -> str:
    return (resources.files("pdb_agent.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
