from toolcrib.counter import Counter
from toolcrib.crib import Crib
from toolcrib.people import People


def new_counter() -> tuple[Counter, Crib, People]:
    crib = Crib()
    for name, drawer in (("saw", 1), ("plane", 1), ("chisel", 4)):
        crib.add(name, 2, drawer)
    people = People(["ada", "bo"], limit=2)
    return Counter(crib, people), crib, people


def test_tool_goes_out_and_comes_back() -> None:
    counter, crib, people = new_counter()
    assert counter.enter("lend 1 ada") == "ada has saw"
    assert crib.contents("2.1") == ["plane"]
    assert counter.enter("back 1") == "saw back from ada, to 2.1"
    assert crib.contents("2.1") == ["saw", "plane"]
    assert people.held("ada") == 0


def test_tool_that_is_out_is_not_lent_again() -> None:
    counter, _, _ = new_counter()
    counter.enter("lend 3 bo")
    assert counter.enter("lend 3 ada") == "chisel is with bo"


def test_member_has_two_hands() -> None:
    counter, _, _ = new_counter()
    answers = [counter.enter(f"lend {number} ada") for number in (1, 2, 3)]
    assert answers == ["ada has saw", "ada has plane", "ada may not borrow"]


def test_moved_tool_lies_in_its_new_drawer() -> None:
    counter, crib, _ = new_counter()
    assert counter.enter("move 1 2.4") == "saw belongs in 2.4"
    assert crib.contents("2.4") == ["saw", "chisel"]


def test_tool_moved_while_it_was_out_comes_back() -> None:
    counter, crib, people = new_counter()
    counter.enter("lend 1 ada")
    counter.enter("move 1 2.4")
    assert counter.enter("back 1") == "saw back from ada, to 2.4"
    assert crib.out() == {}
    assert people.held("ada") == 0


def test_uses_are_counted() -> None:
    counter, crib, _ = new_counter()
    for line in ("lend 2 bo", "back 2", "lend 2 ada"):
        counter.enter(line)
    assert crib.tool(2).uses == 2
    assert crib.out() == {"plane": "ada"}
