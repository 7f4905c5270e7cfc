import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_pdb.debuggee.exceptions import describe_exception


def described(error: BaseException):
    return describe_exception(type(error), error, error.__traceback__)


def caught(raise_it):
    with pytest.raises(BaseException) as caught_info:
        raise_it()
    return caught_info.value


def raise_plain():
    raise ValueError("bad value")  # origin


def test_an_exception_tells_type_message_and_where_it_was_raised():
    result = described(caught(raise_plain))
    assert (result["type"], result["message"], result["chain"]) == ("ValueError", "bad value", [])
    assert result["origin"]["file"] == __file__
    assert result["origin"]["function"].endswith("raise_plain")
    assert result["origin"]["line"] == raise_plain.__code__.co_firstlineno + 1


def test_causes_and_contexts_are_told_apart():
    def raise_it():
        try:
            try:
                raise KeyError("first")
            except KeyError:
                raise TypeError("second")  # noqa: B904
        except TypeError as error:
            raise RuntimeError("third") from error

    chain = described(caught(raise_it))["chain"]
    assert chain[0].startswith("caused by TypeError: second (test_exceptions.py:")
    assert chain[1].startswith("raised while handling KeyError: 'first' (test_exceptions.py:")
    assert len(chain) == 2


def test_a_suppressed_context_is_not_told():
    def raise_it():
        try:
            raise KeyError("hidden")
        except KeyError:
            raise TypeError("shown") from None

    assert described(caught(raise_it))["chain"] == []


def test_a_cyclic_chain_ends():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert described(first)["chain"] == ["caused by ValueError: second"]


def test_a_long_chain_is_bounded():
    error: BaseException = ValueError("0")
    for number in range(50):
        outer = ValueError(str(number))
        outer.__cause__ = error
        error = outer
    assert len(described(error)["chain"]) == 8


class BrokenError(Exception):
    def __str__(self):
        raise ZeroDivisionError


class WordyError(Exception):
    def __str__(self):
        return "w" * 10**6


class NotTextError(Exception):
    def __str__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        return 5


class TrappedError(Exception):
    def __getattribute__(self, name):
        raise AssertionError(name)


def test_a_str_that_raises_is_replaced_by_the_details():
    message = described(BrokenError("detail"))["message"]
    assert message == "<str() of it raised ZeroDivisionError> BrokenError('detail')"


def test_a_str_that_is_not_text_is_replaced_by_the_details():
    assert described(NotTextError("x"))["message"] == "<str() of it raised TypeError> NotTextError('x')"


def test_a_message_of_a_megabyte_is_cut_with_its_size():
    message = described(WordyError())["message"]
    assert len(message) <= 600
    assert message.endswith("… (1000000 chars)")


def test_attribute_traps_are_not_sprung():
    assert describe_exception(TrappedError, TrappedError("kept"), None)["message"] == "kept"


@given(text=st.text(st.characters(codec=None, exclude_categories=()), max_size=3000))
def test_every_message_is_encodable_and_bounded(text):
    message = described(ValueError(text))["message"]
    assert len(message) <= 600
    message.encode("utf-8")


def test_an_exception_that_is_only_a_class_is_described():
    assert describe_exception(KeyError, None, None) == {
        "type": "KeyError",
        "message": "",
        "origin": None,
        "chain": [],
    }


def test_a_group_names_its_members_and_theirs():
    group_type = getattr(__import__("builtins"), "ExceptionGroup", None)
    if group_type is None:
        pytest.skip("exception groups came with 3.11")
    group = group_type("several", [caught(raise_plain), group_type("inner", [KeyError("k")])])
    chain = described(group)["chain"]
    assert chain[0].startswith("member 1 of 2: ValueError: bad value (test_exceptions.py:")
    assert chain[1] == "member 2 of 2: ExceptionGroup: inner (1 sub-exception)"
    assert chain[2] == "member 2.1 of 1: KeyError: 'k'"


def test_a_group_of_the_backport_names_its_members():
    class BackportGroupError(Exception):
        def __init__(self, message, members):
            super().__init__(message)
            self._exceptions = tuple(members)

    assert described(BackportGroupError("several", [ValueError("a")]))["chain"] == [
        "member 1 of 1: ValueError: a"
    ]


def test_notes_are_told():
    error = ValueError("bad")
    vars(error)["__notes__"] = ["in row 3"]  # what add_note (3.11+) keeps
    assert described(error)["chain"] == ["note: in row 3"]
