from concourse.board import Board, Departure

LINDAU = Departure(11, "08:15", "Lindau", "3", taken=50)
BREGENZ = Departure(12, "08:40", "Bregenz", "1")
ROSENHEIM = Departure(13, "09:05", "Rosenheim", "3", taken=100)


def shown(board: Board) -> list[str]:
    return [" ".join(line.split()) for line in board.picture()]


def test_board_shows_departures_in_order() -> None:
    board = Board()
    board.show([LINDAU, BREGENZ])
    assert board.picture() == [
        "08:15   Lindau               3  ####....",
        "08:40   Bregenz              1  ........",
    ]


def test_board_that_has_not_changed_is_not_drawn_again() -> None:
    board = Board()
    board.show([LINDAU, BREGENZ])
    board.picture()
    painted = board.renderer.painted
    board.show([LINDAU, BREGENZ])
    board.picture()
    assert board.renderer.painted == painted


def test_delay_draws_only_what_it_changes() -> None:
    board = Board()
    board.show([LINDAU, BREGENZ])
    board.picture()
    painted = board.renderer.painted
    board.show([LINDAU, Departure(12, "08:55", "Bregenz", "1")])
    assert shown(board) == ["08:15 Lindau 3 ####....", "08:55 Bregenz 1 ........"]
    assert board.renderer.painted == painted + 3


def test_departed_train_is_taken_off() -> None:
    board = Board()
    board.show([LINDAU, BREGENZ])
    board.picture()
    board.show([BREGENZ])
    assert shown(board) == ["08:40 Bregenz 1 ........"]
    assert board.pool.in_use() == 6


def test_next_train_comes_up_when_the_first_has_departed() -> None:
    board = Board()
    board.show([LINDAU, BREGENZ])
    board.picture()
    board.show([BREGENZ, ROSENHEIM])
    assert shown(board) == ["08:40 Bregenz 1 ........", "09:05 Rosenheim 3 ########"]


def test_cancelled_train_makes_room_for_another() -> None:
    board = Board()
    board.show([LINDAU, BREGENZ])
    board.picture()
    board.show([LINDAU, ROSENHEIM])
    assert shown(board) == ["08:15 Lindau 3 ####....", "09:05 Rosenheim 3 ########"]


def test_cancelled_train_makes_room_for_another_after_a_delay() -> None:
    board = Board()
    board.show([LINDAU, BREGENZ])
    board.show([LINDAU, Departure(12, "08:55", "Bregenz", "1")])
    board.picture()
    board.show([LINDAU, ROSENHEIM])
    assert shown(board) == ["08:15 Lindau 3 ####....", "09:05 Rosenheim 3 ########"]


def test_boxes_of_a_departed_train_are_used_for_the_next() -> None:
    board = Board()
    board.show([LINDAU, BREGENZ])
    board.show([BREGENZ, ROSENHEIM])
    assert board.pool.made == 11


def test_notice_is_framed_below_the_departures() -> None:
    board = Board(width=30)
    board.show([BREGENZ])
    board.announce("Lift", "The lift to platform 3 is out of order")
    assert board.picture()[1:] == [
        "+- Lift----------------------+",
        "|The lift to platform 3 is   |",
        "|out of order                |",
        "+----------------------------+",
    ]


def test_pages_turn_and_begin_again() -> None:
    board = Board(lines=2)
    board.head("Departures")
    board.show([LINDAU, BREGENZ, ROSENHEIM])
    assert [line.split()[0] for line in board.picture()[2:]] == ["08:15", "08:40"]
    assert [board.turn(), shown(board)[2:]] == [2, ["09:05 Rosenheim 3 ########"]]
    assert [board.turn(), len(board.picture())] == [1, 4]
