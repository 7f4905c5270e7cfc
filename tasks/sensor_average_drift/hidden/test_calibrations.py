from greenhouse.probe import Calibration, Probe
from greenhouse.window import RollingWindow

QUARTER_DEGREES = Calibration(gain=0.25, offset=4.0)


def figures(probe, now):
    summary = probe.summary(now)
    return None if summary is None else (summary.count, summary.mean, summary.variance)


def test_readings_from_before_a_calibration_keep_their_temperature():
    probe = Probe(QUARTER_DEGREES)
    probe.record(0.0, 64)
    probe.record(10.0, 64)
    probe.recalibrate(Calibration(gain=0.25, offset=8.0))
    probe.record(20.0, 64)
    probe.record(30.0, 64)

    assert figures(probe, 40.0) == (4, 22.0, 4.0)


def test_window_that_spans_a_calibration_loses_what_it_took_in():
    probe = Probe(QUARTER_DEGREES, size=4)
    for moment in range(4):
        probe.record(moment, 64)
    probe.recalibrate(Calibration(gain=0.5, offset=-4.0))
    for moment in range(4, 6):
        probe.record(moment, 64)

    assert figures(probe, 6.0) == (4, 24.0, 16.0)


def test_readings_that_grow_old_after_a_calibration():
    probe = Probe(QUARTER_DEGREES, max_age=100.0)
    probe.record(0.0, 64)
    probe.record(50.0, 96)
    probe.recalibrate(Calibration(gain=0.25, offset=0.0))
    probe.record(90.0, 96)

    assert figures(probe, 120.0) == (2, 26.0, 4.0)
    assert figures(probe, 160.0) == (1, 24.0, 0.0)
    assert figures(probe, 191.0) is None


def test_two_calibrations_within_one_window():
    probe = Probe(QUARTER_DEGREES, size=3)
    probe.record(0.0, 16)
    probe.recalibrate(Calibration(gain=0.25, offset=8.0))
    probe.record(1.0, 16)
    probe.recalibrate(Calibration(gain=0.25, offset=12.0))
    probe.record(2.0, 16)
    assert figures(probe, 3.0)[:2] == (3, 12.0)

    probe.record(3.0, 16)
    probe.record(4.0, 16)

    assert figures(probe, 5.0) == (3, 16.0, 0.0)


def test_count_is_not_touched_by_a_calibration():
    probe = Probe(QUARTER_DEGREES)
    probe.record(0.0, 8)
    probe.record(1.0, 24)
    before = figures(probe, 2.0)
    probe.recalibrate(Calibration(gain=4.0, offset=0.0))

    assert before == (2, 8.0, 4.0)
    assert figures(probe, 2.0) == (2, 8.0, 4.0)


def test_window_of_plain_numbers():
    window = RollingWindow(3, 10.0, lambda number: number * 2.0)
    for moment, number in enumerate([2, 4, 6, 8]):
        window.add(moment, number)

    assert (len(window), window.mean()) == (3, 12.0)
    assert window.drop_before(3) == 2
    assert (window.mean(), window.variance()) == (16.0, 0.0)
