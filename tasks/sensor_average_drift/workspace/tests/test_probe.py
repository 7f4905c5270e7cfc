from greenhouse.probe import Calibration, Probe, Summary

HALF_DEGREES = Calibration(gain=0.5, offset=0.0)


def test_mean_and_variance_of_a_few_readings():
    probe = Probe(HALF_DEGREES)
    for moment, raw in enumerate([40, 44, 48]):
        probe.record(moment, raw)

    summary = probe.summary(now=3)

    assert summary is not None
    assert (summary.count, summary.mean) == (3, 22.0)
    assert round(summary.variance, 6) == 2.666667


def test_oldest_reading_leaves_a_full_window():
    probe = Probe(HALF_DEGREES, size=2)
    for moment, raw in enumerate([100, 40, 44]):
        probe.record(moment, raw)

    assert probe.summary(now=3) == Summary(count=2, mean=21.0, variance=1.0)


def test_old_readings_leave_with_time():
    probe = Probe(HALF_DEGREES, max_age=60.0)
    probe.record(0.0, 100)
    probe.record(50.0, 40)

    assert probe.summary(now=80.0) == Summary(count=1, mean=20.0, variance=0.0)
    assert probe.summary(now=200.0) is None


def test_record_answers_the_temperature():
    probe = Probe(HALF_DEGREES)

    assert probe.record(0.0, 43) == 21.5
    probe.recalibrate(Calibration(gain=0.5, offset=-1.5))
    assert probe.record(1.0, 43) == 20.0


def test_mean_settles_after_a_calibration():
    probe = Probe(HALF_DEGREES, size=3)
    for moment in range(3):
        probe.record(moment, 40)
    probe.recalibrate(Calibration(gain=0.5, offset=2.0))
    for moment in range(3, 8):
        probe.record(moment, 40)

    assert probe.summary(now=8) == Summary(count=3, mean=22.0, variance=0.0)


def test_log_keeps_counts_and_calibration():
    probe = Probe(HALF_DEGREES)
    probe.record(0.0, 40)
    probe.recalibrate(Calibration(gain=0.25, offset=1.0))
    probe.record(5.0, 80)

    assert probe.log == [(0.0, 40, 0.5, 0.0), (5.0, 80, 0.25, 1.0)]
