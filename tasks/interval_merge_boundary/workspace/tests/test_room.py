import pytest
from bookings.room import NotFree, Room, busy_anywhere, quiet_hours
from bookings.spans import Span, joined

DAY = Span(480, 1080)


def room_with(*meetings):
    room = Room(DAY)
    for start, end in meetings:
        room.book(Span(start, end), f"from {start}")
    return room


def pairs(spans):
    return [(span.start, span.end) for span in spans]


def test_free_time_of_a_room():
    room = room_with((540, 600), (720, 780))

    assert pairs(room.free()) == [(480, 540), (600, 720), (780, 1080)]
    assert pairs(room.free(at_least=90)) == [(600, 720), (780, 1080)]


def test_overlapping_spans_are_joined():
    spans = [Span(600, 660), Span(540, 630), Span(700, 720), Span(550, 560)]

    assert pairs(joined(spans)) == [(540, 660), (700, 720)]


def test_taken_room_cannot_be_booked():
    room = room_with((540, 600))

    with pytest.raises(NotFree):
        room.book(Span(570, 630), "Review")


def test_closed_room_cannot_be_booked():
    with pytest.raises(NotFree):
        room_with((1050, 1110))


def test_cancelled_meeting_frees_the_room():
    room = room_with((540, 600))

    assert (room.cancel("from 540"), room.cancel("from 540")) == (1, 0)
    assert pairs(room.busy()) == []


def test_first_free_span():
    room = room_with((480, 540), (560, 700))

    assert pairs([room.first_free(20), room.first_free(30)]) == [(540, 560), (700, 730)]


def test_quiet_hours_of_two_rooms():
    rooms = [room_with((540, 600)), room_with((570, 720), (900, 1080))]

    assert pairs(quiet_hours(rooms)) == [(480, 540), (720, 900)]


def test_meetings_follow_each_other_from_room_to_room():
    rooms = [room_with((540, 600), (700, 720)), room_with((600, 660))]

    assert pairs(busy_anywhere(rooms)) == [(540, 660), (700, 720)]
