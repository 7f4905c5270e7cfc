import pytest

from inbox_desk.desk import Desk, Refused


def test_a_document_is_filed_under_its_name(tmp_path):
    desk = Desk(tmp_path, "hall")
    receipt = desk.take_in("minutes.txt", b"we met")
    assert receipt.filed_as == "minutes.txt"
    assert desk.read(receipt) == b"we met"


def test_a_second_document_of_the_name_gets_a_number(tmp_path):
    desk = Desk(tmp_path, "hall")
    names = [desk.take_in("minutes.txt", text).filed_as for text in (b"one", b"two", b"three")]
    assert names == ["minutes.txt", "minutes-1.txt", "minutes-2.txt"]


def test_folders_and_odd_characters_are_left_out_of_the_name(tmp_path):
    desk = Desk(tmp_path, "hall")
    assert desk.take_in("../../notes?.md", b"n").filed_as == "notes_.md"


def test_an_empty_document_is_refused_and_leaves_nothing(tmp_path):
    desk = Desk(tmp_path, "hall")
    with pytest.raises(Refused):
        desk.take_in("minutes.txt", b"")
    assert desk.documents() == []


def test_two_desks_that_publish_at_once_use_two_names(tmp_path):
    yard = Desk(tmp_path, "yard")
    receipts = []

    def watch(stage, name):
        if stage == "publishing":
            receipts.append(yard.take_in("plan.txt", b"from the yard"))

    hall = Desk(tmp_path, "hall", watcher=watch)
    receipts.append(hall.take_in("plan.txt", b"from the hall"))
    assert [yard.read(receipt) for receipt in receipts] == [b"from the yard", b"from the hall"]


def test_a_document_filed_while_another_desk_is_busy_is_kept(tmp_path):
    yard = Desk(tmp_path, "yard")
    receipts = []

    def watch(stage, name):
        if stage == "named" and not receipts:
            receipts.append(yard.take_in("plan.txt", b"from the yard"))

    hall = Desk(tmp_path, "hall", watcher=watch)
    receipts.append(hall.take_in("plan.txt", b"from the hall"))
    assert [yard.read(receipt) for receipt in receipts] == [b"from the yard", b"from the hall"]
    assert len(hall.documents()) == 2


def test_a_document_can_be_taken_out_again(tmp_path):
    desk = Desk(tmp_path, "hall")
    receipts = [desk.take_in(name, name.encode()) for name in ("a.txt", "b.txt")]
    assert desk.take_out(receipts[0]) == b"a.txt"
    assert desk.documents() == ["b.txt"]


def test_the_journal_holds_the_receipts_of_all_desks(tmp_path):
    hall, yard = Desk(tmp_path, "hall"), Desk(tmp_path, "yard")
    yard.take_in("b.txt", b"b")
    hall.take_in("a.txt", b"a")
    assert [receipt.filed_as for receipt in hall.journal.all()] == ["a.txt", "b.txt"]
