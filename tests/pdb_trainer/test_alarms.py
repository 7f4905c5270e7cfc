"""When a run is said to go wrong."""

from collections.abc import Sequence

from pdb_trainer.alarms import AlarmSettings, alarms
from pdb_trainer.step_report import Parity, PolicyStatistics, StepReport

QUIET = AlarmSettings()


def report(entropy: float = 0.5, parity: Parity | None = None) -> StepReport:
    statistics = PolicyStatistics(
        ratio_mean=1.0,
        old_kl=0.0,
        log_ratio_mean=0.0,
        clipped_high=0.0,
        clipped_low=0.0,
        clipped_dual=0.0,
        responses_at_bounds=0.0,
        parity=parity,
    )
    return StepReport(
        step=1,
        loss=0.0,
        grad_norm=0.0,
        learning_rate=1e-5,
        tokens=1,
        computed_tokens=2,
        entropy=entropy,
        skipped=False,
        skipped_total=0,
        seconds=0.1,
        policy=statistics,
    )


def entropies(values: Sequence[float]) -> list[str]:
    return alarms([report(value) for value in values], 0.0, QUIET)


def test_entropy_raises_an_alarm_after_ten_low_steps_in_a_row():
    (alarm,) = entropies([0.049] * 10)
    assert "Entropy" in alarm
    assert entropies([0.049] * 9) == []
    assert entropies([0.049] * 5 + [0.051] + [0.049] * 9) == []
    assert entropies([0.05] * 10) == []


def test_a_sampler_that_disagrees_about_the_same_weights_raises_an_alarm():
    agreeing = report(parity=Parity(tokens=5, kl=0.015, ratio=1.05))
    assert alarms([agreeing], 0.0, QUIET) == []
    for parity in (Parity(tokens=5, kl=0.016, ratio=1.0), Parity(tokens=5, kl=0.0, ratio=1.06)):
        (alarm,) = alarms([report(parity=parity)], 0.0, QUIET)
        assert "disagree" in alarm
        assert alarms([report(parity=parity), agreeing], 0.0, QUIET) == []  # the last step is what counts


def test_truncation_raises_an_alarm_above_a_tenth():
    assert alarms([report()], 0.10, QUIET) == []
    (alarm,) = alarms([report()], 0.11, QUIET)
    assert "11% of the replies were cut" in alarm


def test_no_report_raises_no_alarm():
    assert alarms([], 1.0, QUIET) == []
