"""What a run says of itself."""

import io
import math
from pathlib import Path

from pdb_trainer.run_log import METRICS, RunLog, duration, read_metrics
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def opened(folder: Path, *, done: int = 0, stream: io.StringIO | None = None) -> RunLog:
    return RunLog(folder, done=done, total=6, shown=("loss",), stream=stream or io.StringIO())


def scalars(folder: Path, name: str) -> list[tuple[int, float]]:
    board = EventAccumulator(str(folder / "tensorboard"))
    board.Reload()
    return [(event.step, event.value) for event in board.Scalars(name)]


def test_a_continued_run_has_every_step_once(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        for step in (1, 2, 3):
            log.write(step, {"loss": step * 0.5})
    with opened(tmp_path, done=2) as log:  # the checkpoint of step 3 was never written
        for step in (3, 4):
            log.write(step, {"loss": step * 0.25})
    assert [(one["step"], one["loss"]) for one in read_metrics(tmp_path)] == [
        (1, 0.5),
        (2, 1.0),
        (3, 0.75),
        (4, 1.0),
    ]
    assert scalars(tmp_path, "loss") == [(1, 0.5), (2, 1.0), (3, 0.75), (4, 1.0)]


def test_a_line_that_was_cut_off_is_left_out_and_overwritten(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.write(1, {"loss": 1.0})
    path = tmp_path / METRICS
    path.write_bytes(path.read_bytes() + b'{"step": 2, "lo')
    with opened(tmp_path, done=1) as log:
        log.write(2, {"loss": 2.0})
    assert [one["step"] for one in read_metrics(tmp_path)] == [1, 2]


def test_what_is_not_finite_is_null_in_the_record(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.write(1, {"loss": math.nan, "kl": 1.0})
    assert read_metrics(tmp_path)[0]["loss"] is None
    assert scalars(tmp_path, "kl") == [(1, 1.0)]


def test_every_step_is_a_line_where_there_is_no_terminal(tmp_path: Path) -> None:
    stream = io.StringIO()
    with opened(tmp_path, stream=stream) as log:
        log.doing("not seen here")
        log.say("A sentence.")
        log.write(1, {"loss": 0.123456, "kl": 1.0})
        log.write(6, {"loss": 2.0})
    lines = stream.getvalue().splitlines()
    assert lines[0] == "A sentence."
    assert lines[1].startswith("step 1/6: loss 0.1235; about ")
    assert lines[2] == "step 6/6: loss 2"


def test_durations_read_well() -> None:
    assert [duration(seconds) for seconds in (12.4, 600, 9000)] == ["12 s", "10 min", "2.5 h"]
