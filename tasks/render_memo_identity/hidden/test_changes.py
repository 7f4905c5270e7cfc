from concourse.board import Board, Departure
from concourse.boxes import Label, Meter, Panel, Row, Stack
from concourse.pool import Pool
from concourse.renderer import Renderer

GRAZ = Departure(1, "10:00", "Graz", "7", taken=25)
WELS = Departure(2, "10:10", "Wels", "8", taken=75)
LINZ = Departure(3, "10:20", "Linz", "9", taken=0)


def shown(board: Board) -> list[str]:
    return [" ".join(line.split()) for line in board.picture()]


def test_three_trains_follow_each_other_on_one_line() -> None:
    board = Board()
    seen = []
    for departure in (GRAZ, WELS, LINZ):
        board.show([departure])
        seen += shown(board)
    assert seen == ["10:00 Graz 7 ##......", "10:10 Wels 8 ######..", "10:20 Linz 9 ........"]


def test_all_trains_are_replaced_at_once() -> None:
    board = Board()
    board.show([GRAZ, WELS])
    board.picture()
    board.show([LINZ, Departure(4, "10:30", "Enns", "2", taken=100)])
    assert shown(board) == ["10:20 Linz 9 ........", "10:30 Enns 2 ########"]


def test_train_after_a_delayed_one() -> None:
    board = Board()
    board.show([GRAZ])
    board.picture()
    board.show([Departure(1, "10:03", "Graz", "7", taken=25)])
    board.picture()
    board.show([WELS])
    assert shown(board) == ["10:10 Wels 8 ######.."]
    board.show([Departure(2, "10:19", "Wels", "8", taken=75)])
    assert shown(board) == ["10:19 Wels 8 ######.."]


def test_trains_that_stay_are_not_drawn_again() -> None:
    board = Board()
    board.show([GRAZ, WELS])
    board.picture()
    painted = board.renderer.painted
    board.show([GRAZ, LINZ])
    assert shown(board) == ["10:00 Graz 7 ##......", "10:20 Linz 9 ........"]
    assert board.renderer.painted == painted + 6


def test_notice_takes_on_another_text() -> None:
    board = Board(width=24)
    board.show([LINZ])
    board.announce("Today", "Platform 4 is closed until the evening")
    assert board.picture()[2:4] == ["|Platform 4 is closed  |", "|until the evening     |"]
    board.announce("Today", "Trains to Wels run via Linz this morning")
    assert board.picture()[2:4] == ["|Trains to Wels run via|", "|Linz this morning     |"]
    board.announce("Today", "Trains to Graz run via Enns this morning")
    assert board.picture()[2:4] == ["|Trains to Graz run via|", "|Enns this morning     |"]


def test_news_are_the_lines_of_the_train_that_came_up() -> None:
    board = Board(lines=2)
    board.head("Today")
    board.show([GRAZ, WELS])
    assert sorted(board.news()) == [0, 1, 2, 3]
    assert board.news() == {}
    board.show([GRAZ, LINZ])
    assert [(number, line.split()[1]) for number, line in board.news().items()] == [(3, "Linz")]


def test_train_on_the_second_page_is_replaced() -> None:
    board = Board(lines=1)
    board.show([GRAZ, WELS])
    board.turn()
    assert shown(board) == ["10:10 Wels 8 ######.."]
    board.show([GRAZ, LINZ])
    assert shown(board) == ["10:20 Linz 9 ........"]


def test_notice_after_one_that_was_withdrawn() -> None:
    board = Board(width=20)
    board.show([GRAZ])
    board.announce("Lost", "A blue umbrella")
    board.picture()
    board.withdraw("Lost")
    board.announce("Found", "A red umbrella")
    assert board.picture()[1:3] == ["+- Found-----------+", "|A red umbrella    |"]


def test_panel_holds_another_row_made_of_recycled_boxes() -> None:
    pool = Pool()
    renderer = Renderer(pool)
    panel = pool.take(Panel)
    seen = []
    for text, value in (("oil", 1), ("gas", 3), ("tar", 4)):
        label, meter, row = pool.take(Label), pool.take(Meter), pool.take(Row)
        label.set(text)
        meter.set(value, 4)
        row.set([label, meter], [1, 1])
        panel.set("Tank", [row])
        seen.append(renderer.picture(panel, 10)[1])
        pool.give_back(row)
    assert seen == ["|oil #...|", "|gas ###.|", "|tar ####|"]
    assert (pool.made, pool.in_use()) == (4, 1)


def test_stack_keeps_its_other_boxes_when_one_is_given_back() -> None:
    pool = Pool()
    renderer = Renderer(pool)
    stack, first, second = pool.take(Stack), pool.take(Label), pool.take(Label)
    first.set("first")
    second.set("second")
    stack.set_children([first, second])
    renderer.picture(stack, 6)
    stack.set_children([second])
    pool.give_back(first)
    third = pool.take(Label)
    third.set("third")
    stack.set_children([third, second])
    assert renderer.picture(stack, 6) == ["third ", "second"]
    assert renderer.painted == 5
