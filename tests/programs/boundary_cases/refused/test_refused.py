from pathlib import Path

import pytest

from prog import hostile


class Observer:
    _secret = "hidden"
    log = "log"


ANSWER = 42


def test_an_answer_equal_to_everything():
    assert hostile.anything() == 5


def test_the_same_from_the_other_side():
    assert 5 == hostile.anything()


def test_not_unequal():
    assert not (hostile.anything() != 5)


def test_a_number_equal_to_everything():
    assert hostile.number() == 5


def test_a_text_equal_to_everything():
    assert hostile.text() == "right"


def test_a_pair_equal_to_everything():
    assert hostile.pair() == (3, 4)


def test_a_list_equal_to_everything():
    assert hostile.lot() == [2]


def test_a_mapping_equal_to_everything():
    assert hostile.mapping() == {"a": 2}


def test_a_list_of_them():
    assert hostile.inside() == [5]


def test_a_key_of_them():
    assert hostile.as_key() == {"right": 1}


def test_in_a_list():
    assert hostile.anything() in [5]


def test_about_equal():
    assert hostile.anything() == pytest.approx(5)


def test_none():
    assert hostile.anything() is None


def test_a_path():
    assert hostile.anything() == Path("a")


def test_an_instance_of_a_plain_type():
    assert isinstance(hostile.anything(), int)


def test_a_length_equal_to_everything():
    assert len(hostile.anything()) == 4


def test_a_text_that_is_no_plain_text():
    assert str(hostile.anything()) == "x"


def test_a_skip():
    hostile.skip()


def test_an_interrupt():
    hostile.interrupt()


def test_a_generator_exit():
    hostile.leave()


def test_an_odd_exception():
    hostile.assertion_like()


def test_private_names_are_out_of_reach():
    assert hostile.reach(Observer()) == "nothing"


def test_globals_of_a_function_are_out_of_reach():
    assert hostile.steal(lambda: None) == [False, 42]


def test_a_fixture_cannot_be_handed_over(monkeypatch):
    hostile.reach(monkeypatch)


def test_a_module_of_the_tests_cannot_be_handed_over():
    hostile.reach(pytest)


def test_a_class_of_the_program_is_not_subclassed():
    class Mine(hostile.Any):
        pass


def test_an_object_of_the_program_is_not_pickled():
    import pickle

    assert pickle.dumps(hostile.anything())
