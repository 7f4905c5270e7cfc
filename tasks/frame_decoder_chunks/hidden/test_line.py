from buoylink.frames import FrameReader, make_frame, split_at_markers
from buoylink.receiver import Receiver, Report
from buoylink.stuffing import Unstuffer, stuff

BODY = b"\x02\x10\x16\x03"
FRAME = make_frame(BODY)


def bodies_of(*chunks):
    reader = FrameReader()
    bodies = [body.hex() for chunk in chunks for body in reader.feed(chunk)]
    return bodies, reader.damaged


def test_several_timeouts_within_a_frame():
    outcomes = [bodies_of(FRAME[:length], b"", b"", FRAME[length:]) for length in range(len(FRAME))]

    assert outcomes == [(["02101603"], 0)] * 11


def test_single_idle_byte_in_a_chunk():
    outcomes = [bodies_of(FRAME[:length] + b"\x16" + FRAME[length:]) for length in range(len(FRAME))]

    assert outcomes == [(["02101603"], 0)] * 11


def test_idle_bytes_side_by_side_in_a_chunk():
    outcomes = [bodies_of(FRAME[:length] + b"\x16\x16\x16" + FRAME[length:]) for length in range(len(FRAME))]

    assert outcomes == [(["02101603"], 0)] * 11


def test_idle_byte_at_the_edge_of_a_chunk():
    ends_with = [bodies_of(FRAME[:length] + b"\x16", FRAME[length:]) for length in range(len(FRAME))]
    begins_with = [bodies_of(FRAME[:length], b"\x16" + FRAME[length:]) for length in range(len(FRAME))]

    assert ends_with == [(["02101603"], 0)] * 11
    assert begins_with == [(["02101603"], 0)] * 11


def test_byte_by_byte_with_an_idle_byte_after_each():
    chunks = []
    for byte in FRAME:
        chunks.append(bytes([byte]))
        chunks.append(b"\x16")

    assert bodies_of(*chunks) == (["02101603"], 0)


def test_run_without_bytes_changes_nothing():
    unstuffer = Unstuffer()

    assert unstuffer.take(b"a\x10") == b"a"
    assert unstuffer.take(b"") == b""
    assert unstuffer.take(b"\x42b") == b"\x02b"


def test_frame_after_one_cut_short_behind_an_escape():
    receiver = Receiver()
    report = Report(buoy=80, sequence=255, values=(-1, 4118))
    cut = make_frame(b"\x41\x10")[:3]

    received = [r.values for r in receiver.feed(cut) + receiver.feed(b"") + receiver.feed(report.to_frame())]

    assert received == [(-1, 4118)]
    assert receiver.damaged == 1


def test_stuffed_bytes_and_markers():
    assert stuff(b"\x10a\x03") == b"\x10\x50a\x10\x43"
    assert list(split_at_markers(b"ab\x02c\x16\x03")) == [(b"ab", 2), (b"c", 22), (b"", 3), (b"", None)]


def test_sequence_numbers_wrap():
    receiver = Receiver()
    for sequence in (254, 255, 1):
        receiver.feed(Report(buoy=3, sequence=sequence, values=(5,)).to_frame())

    assert (receiver.missed, receiver.damaged) == (1, 0)


def test_frame_that_never_ends():
    reader = FrameReader()

    assert reader.feed(b"\x02" + b"a" * 256) == []
    assert (reader.damaged, [body.hex() for body in reader.feed(b"aa" + FRAME)]) == (1, ["02101603"])
