from greenhouse.probe import Calibration, Probe

HALF_DEGREES = Calibration(gain=0.5, offset=0.0)


def figures(probe, now):
    summary = probe.summary(now)
    return None if summary is None else (summary.count, summary.mean, round(summary.variance, 6))


def test_mean_and_variance_of_a_few_readings():
    probe = Probe(HALF_DEGREES)
    for moment, raw in enumerate([40, 44, 48]):
        probe.record(moment, raw)

    assert figures(probe, now=3) == (3, 22.0, 2.666667)


def test_oldest_reading_leaves_a_full_window():
    probe = Probe(HALF_DEGREES, size=2)
    for moment, raw in enumerate([100, 40, 44]):
        probe.record(moment, raw)

    assert figures(probe, now=3) == (2, 21.0, 1.0)


def test_old_readings_leave_with_time():
    probe = Probe(HALF_DEGREES, max_age=60.0)
    probe.record(0.0, 100)
    probe.record(50.0, 40)

    assert figures(probe, now=80.0) == (1, 20.0, 0.0)
    assert figures(probe, now=200.0) is None


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

    assert figures(probe, now=8) == (3, 22.0, 0.0)


def test_log_keeps_counts_and_calibration():
    probe = Probe(HALF_DEGREES)
    probe.record(0.0, 40)
    probe.recalibrate(Calibration(gain=0.25, offset=1.0))
    probe.record(5.0, 80)

    assert probe.log == [(0.0, 40, 0.5, 0.0), (5.0, 80, 0.25, 1.0)]
