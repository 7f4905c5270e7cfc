from buoylink.frames import make_frame
from buoylink.receiver import Receiver, Report

CALM = Report(buoy=7, sequence=40, values=(120, -35, 1013))
GUSTY = Report(buoy=7, sequence=41, values=(3, 16, 990))


def receive(*chunks):
    receiver = Receiver()
    reports = [report for chunk in chunks for report in receiver.feed(chunk)]
    return [(report.sequence, *report.values) for report in reports], receiver


def test_reports_of_one_chunk():
    reports, receiver = receive(CALM.to_frame() + GUSTY.to_frame())

    assert reports == [(40, 120, -35, 1013), (41, 3, 16, 990)]
    assert (receiver.damaged, receiver.missed) == (0, 0)


def test_frame_in_two_chunks():
    frame = GUSTY.to_frame()

    for length in range(len(frame)):
        reports, receiver = receive(frame[:length], frame[length:])
        assert (reports, receiver.damaged) == ([(41, 3, 16, 990)], 0)


def test_frame_byte_by_byte():
    frame = GUSTY.to_frame()

    reports, _ = receive(*[frame[index : index + 1] for index in range(len(frame))])

    assert reports == [(41, 3, 16, 990)]


def test_port_times_out_within_a_frame():
    frame = GUSTY.to_frame()

    for length in range(len(frame)):
        reports, receiver = receive(frame[:length], b"", frame[length:])
        assert (reports, receiver.damaged) == ([(41, 3, 16, 990)], 0)


def test_modem_idles_between_frames():
    reports, receiver = receive(b"\x16\x16" + CALM.to_frame() + b"\x16", b"\x16" + GUSTY.to_frame())

    assert reports == [(40, 120, -35, 1013), (41, 3, 16, 990)]
    assert receiver.damaged == 0


def test_frame_cut_short_counts_as_damaged():
    reports, receiver = receive(CALM.to_frame()[:-3], GUSTY.to_frame())

    assert (reports, receiver.damaged) == ([(41, 3, 16, 990)], 1)


def test_checksum_that_does_not_match_counts_as_damaged():
    frame = bytearray(CALM.to_frame())
    frame[1] += 1

    assert receive(bytes(frame))[1].damaged == 1


def test_gap_in_the_sequence_counts_as_missed():
    later = Report(buoy=7, sequence=44, values=())
    other = Report(buoy=8, sequence=90, values=())

    _, receiver = receive(CALM.to_frame() + other.to_frame() + later.to_frame())

    assert (receiver.missed, receiver.loss()) == (3, 0.5)


def test_reserved_bytes_go_escaped():
    assert make_frame(b"\x16\x02\x30").hex(" ") == "02 10 56 10 42 30 48 03"
