import pytest
from bookings.room import NotFree, Room, busy_anywhere, quiet_hours
from bookings.spans import Span, joined

DAY = Span(0, 600)


def room_with(*meetings):
    room = Room(DAY)
    for start, end in meetings:
        room.book(Span(start, end), f"{start}")
    return room


def pairs(spans):
    return [(span.start, span.end) for span in spans]


def test_back_to_back_meetings_can_be_booked():
    room = room_with((100, 160), (160, 200))
    room.book(Span(60, 100), "early")

    assert pairs(room.busy()) == [(60, 200)]
    assert room.longest_run() == 140


def test_run_of_many_meetings():
    room = room_with((300, 330), (0, 30), (30, 60), (330, 360), (60, 90))

    assert pairs(room.busy()) == [(0, 90), (300, 360)]
    assert (room.longest_run(), pairs(room.free())) == (90, [(90, 300), (360, 600)])


def test_gap_of_a_minute_parts_two_spans():
    assert pairs(joined([Span(11, 20), Span(0, 10)])) == [(0, 10), (11, 20)]
    assert pairs(joined([Span(10, 20), Span(0, 10)])) == [(0, 20)]


def test_touching_spans_do_not_overlap():
    outcomes = [Span(0, 10).overlaps(Span(start, start + 10)) for start in (-10, -9, 9, 10)]

    assert outcomes == [False, True, True, False]


def test_span_that_touches_the_end_of_a_long_one():
    spans = [Span(0, 100), Span(20, 40), Span(40, 50), Span(100, 110)]

    assert pairs(joined(spans)) == [(0, 110)]


def test_three_rooms_in_turn():
    rooms = [room_with((0, 100), (300, 400)), room_with((100, 200)), room_with((200, 300), (500, 600))]

    assert pairs(busy_anywhere(rooms)) == [(0, 400), (500, 600)]
    assert pairs(quiet_hours(rooms)) == [(400, 500)]


def test_meeting_up_to_the_closing_time():
    room = room_with((570, 600))

    assert pairs(room.free(at_least=570)) == [(0, 570)]
    with pytest.raises(NotFree):
        room.book(Span(599, 601), "late")
