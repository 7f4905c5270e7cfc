import threading

from inbox_desk.desk import Desk


def file_between(folder, held_stage, name, contents):
    """Two desks; the second files ``contents[0]`` when the first reaches ``held_stage``."""
    yard = Desk(folder, "yard")
    receipts = []

    def watch(stage, stage_name):
        if stage == held_stage and not receipts:
            receipts.append(yard.take_in(name, contents[0]))

    hall = Desk(folder, "hall", watcher=watch)
    receipts.append(hall.take_in(name, contents[1]))
    return [yard.read(receipt) for receipt in receipts], hall.documents()


def test_both_documents_stay_when_the_other_files_at_naming(tmp_path):
    texts, names = file_between(tmp_path, "named", "a.csv", [b"1,2", b"3,4"])
    assert texts == [b"1,2", b"3,4"]
    assert names == ["a-1.csv", "a.csv"]


def test_both_documents_stay_when_the_other_files_at_claiming(tmp_path):
    texts, names = file_between(tmp_path, "claiming", "a.csv", [b"1,2", b"3,4"])
    assert texts == [b"1,2", b"3,4"]
    assert names == ["a-1.csv", "a.csv"]


def test_a_numbered_name_is_kept_apart_as_well(tmp_path):
    Desk(tmp_path, "door").take_in("log", b"oldest")
    texts, names = file_between(tmp_path, "claiming", "log", [b"older", b"newest"])
    assert texts == [b"older", b"newest"]
    assert names == ["log", "log-1", "log-2"]


def test_three_desks_that_meet_at_one_name_keep_three_documents(tmp_path):
    receipts = []
    door = Desk(tmp_path, "door")

    def file_at_door(stage, name):
        if stage == "claiming" and not receipts:
            receipts.append(door.take_in("list.txt", b"door"))

    yard = Desk(tmp_path, "yard", watcher=file_at_door)
    yards = []

    def file_at_yard(stage, name):
        if stage == "claiming" and not yards:
            yards.append("busy")
            receipts.append(yard.take_in("list.txt", b"yard"))

    hall = Desk(tmp_path, "hall", watcher=file_at_yard)
    receipts.append(hall.take_in("list.txt", b"hall"))
    assert [hall.read(receipt) for receipt in receipts] == [b"door", b"yard", b"hall"]
    assert len({receipt.filed_as for receipt in receipts}) == 3


def test_a_name_is_free_again_when_its_document_was_taken_out(tmp_path):
    desk = Desk(tmp_path, "hall")
    receipt = desk.take_in("key.txt", b"first")
    assert desk.take_out(receipt) == b"first"
    assert desk.take_in("key.txt", b"second").filed_as == "key.txt"


def test_no_marker_or_part_file_is_left_in_the_folder(tmp_path):
    texts, names = file_between(tmp_path, "named", "a.txt", [b"1", b"2"])
    assert names == ["a-1.txt", "a.txt"]
    assert Desk(tmp_path, "door").unfiled() == []


def test_a_desk_held_in_another_thread_keeps_both_documents(tmp_path):
    reached = threading.Event()
    go_on = threading.Event()

    def hold(stage, name):
        if stage == "claiming" and not reached.is_set():
            reached.set()
            go_on.wait(10)

    hall = Desk(tmp_path, "hall", watcher=hold)
    yard = Desk(tmp_path, "yard")
    receipts = []
    thread = threading.Thread(target=lambda: receipts.append(hall.take_in("m.txt", b"hall")))
    thread.start()
    assert reached.wait(10)
    receipts.append(yard.take_in("m.txt", b"yard"))
    go_on.set()
    thread.join(10)
    assert [yard.read(receipt) for receipt in receipts] == [b"yard", b"hall"]
