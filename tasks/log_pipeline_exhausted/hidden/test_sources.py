from collections.abc import Iterator
from pathlib import Path

from servicelog.reading import guess_separator
from servicelog.report import head, summarise, summarise_file
from servicelog.stages import at_least, without_repeats


def test_lines_of_a_generator_are_all_counted():
    lines = (f"10:{minute:02} | INFO | pump | turn {minute}" for minute in range(12))
    summary = summarise(lines)
    assert dict(summary.services) == {"pump": 12}
    assert (summary.first, summary.last) == ("10:00", "10:11")


def test_a_short_stream_is_read_to_its_end():
    lines = iter(["08:00\tINFO\tgate\tup", "08:01\tERROR\tgate\tstuck"])
    assert head(lines, 5) == ["up", "stuck"]


def test_only_the_lines_that_are_needed_are_taken():
    taken: list[int] = []

    def stream() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield f"12:00;INFO;pump;turn {number}"

    assert head(stream(), 2) == ["turn 0", "turn 1"]
    assert len(taken) == 5


def test_a_stage_takes_no_more_than_it_needs():
    taken: list[int] = []

    def stream() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield f"12:00;{'ERROR' if number % 4 == 3 else 'INFO'};pump;turn {number}"

    assert head(stream(), 2, at_least("error")) == ["turn 3", "turn 7"]
    assert len(taken) == 9


def test_a_file_with_a_long_preface_is_read_from_its_first_record(tmp_path: Path):
    log = tmp_path / "day.log"
    log.write_text("# a\n# b\n09:00 | INFO | a; b | x; y; z\n09:01 | INFO | a; b | x\n", encoding="utf-8")
    summary = summarise_file(log, without_repeats)
    assert dict(summary.services) == {"a; b": 2}


def test_the_guess_goes_by_the_first_five_lines():
    lines = ["1;2;3;4", "1 | 2 | 3 | 4", "1 | 2 | 3 | 4", "", "", "1;2;3;4", "1;2;3;4"]
    assert guess_separator(lines) == " | "


def test_a_list_can_be_read_again():
    lines = ["08:00\tINFO\tgate\tup", "08:01\tINFO\tgate\tdown"]
    assert [head(lines, 1), head(lines, 2)] == [["up"], ["up", "down"]]
