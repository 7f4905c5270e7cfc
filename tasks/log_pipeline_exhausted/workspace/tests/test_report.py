from pathlib import Path

from servicelog.report import head, summarise, summarise_file
from servicelog.stages import at_least, of_service, without_repeats

LINES = [
    "# night shift",
    "09:00 | INFO | door | opened",
    "09:01 | WARNING | oven | warm",
    "09:02 | WARNING | oven | warm",
    "09:05 | ERROR | oven | hot",
    "  at sensor 3",
    "",
    "09:07 | INFO | door | closed",
]


def test_a_list_of_lines_is_summed_up():
    summary = summarise(LINES)
    assert summary.lines() == ["09:00 to 09:07", "1 error, 2 info, 2 warning"]


def test_a_file_is_summed_up(tmp_path: Path):
    log = tmp_path / "night.log"
    log.write_text("\n".join(LINES), encoding="utf-8")
    assert summarise_file(log).lines() == ["09:00 to 09:07", "1 error, 2 info, 2 warning"]


def test_records_of_a_high_level_are_picked_out():
    summary = summarise(LINES, at_least("warning"))
    assert dict(summary.levels) == {"warning": 2, "error": 1}


def test_records_that_say_the_same_are_told_once():
    assert head(LINES, 3, without_repeats) == ["opened", "warm", "hot\n  at sensor 3"]


def test_services_are_counted_with_all_repeats():
    summary = summarise(LINES, of_service("oven"), without_repeats)
    assert dict(summary.services) == {"oven": 3}


def test_an_empty_log_has_a_summary():
    assert summarise([]).lines() == ["nothing was logged"]
