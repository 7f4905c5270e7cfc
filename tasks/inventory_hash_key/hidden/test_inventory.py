import pytest

from toolcrib.counter import Counter
from toolcrib.crib import Crib, NotIn
from toolcrib.people import People


def new_crib() -> Crib:
    crib = Crib()
    for name in ("awl", "file", "rasp"):
        crib.add(name, 1, 3)
    return crib


def test_moved_tool_is_not_lent_twice() -> None:
    crib = new_crib()
    crib.lend(2, "cy")
    crib.move(2, 1, 6)
    with pytest.raises(NotIn):
        crib.lend(2, "di")
    assert crib.out() == {"file": "cy"}
    assert crib.contents("1.6") == []


def test_tool_moved_there_and_on_comes_back() -> None:
    crib = new_crib()
    crib.lend(1, "cy")
    crib.move(1, 4, 1)
    crib.move(1, 5, 2)
    assert crib.take_back(1) == "cy"
    assert crib.take_back(1) is None
    assert crib.contents("5.2") == ["awl"]


def test_renamed_tool_comes_back() -> None:
    crib = new_crib()
    crib.lend(3, "cy")
    crib.rename(3, "wood rasp")
    assert crib.take_back(3) == "cy"
    assert crib.contents("1.3") == ["awl", "file", "wood rasp"]


def test_tool_moved_while_it_is_dull_is_sharpened() -> None:
    crib = new_crib()
    crib.mark_dull(2)
    crib.move(2, 1, 4)
    assert crib.sharpen(2) is True
    assert crib.sharpen(2) is False
    assert crib.dull() == []


def test_dull_tool_is_listed_once() -> None:
    crib = new_crib()
    crib.mark_dull(1)
    crib.move(1, 7, 3)
    crib.mark_dull(1)
    assert crib.dull() == ["awl"]


def test_two_tools_of_one_name_are_told_apart() -> None:
    crib = new_crib()
    twin = crib.add("awl", 1, 3)
    crib.lend(1, "cy")
    crib.move(1, 2, 7)
    crib.rename(1, "old awl")
    crib.lend(twin.number, "di")
    assert crib.out() == {"old awl": "cy", "awl": "di"}
    assert [crib.take_back(4), crib.take_back(1)] == ["di", "cy"]


def test_hands_are_free_after_a_moved_tool_came_back() -> None:
    people = People(["cy"], limit=1)
    counter = Counter(new_crib(), people)
    lines = ("lend 1 cy", "move 1 3.5", "back 1", "lend 2 cy", "dull 2")
    assert [counter.enter(line) for line in lines] == [
        "cy has awl",
        "awl belongs in 3.5",
        "awl back from cy, to 3.5",
        "cy has file",
        "file is due",
    ]
