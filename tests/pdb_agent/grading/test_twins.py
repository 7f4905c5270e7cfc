import ast
import random
from textwrap import dedent

import pytest
from pdb_agent.errors import TaskError
from pdb_agent.grading.falsify import Names, falsify
from pdb_agent.grading.suite import suite_of
from pdb_agent.grading.twins import twin_suite

from tests.pdb_agent.grading.cart import CART_TASK
from tests.pdb_agent.grading.small_task import small_task

NAMES = Names(differing="differing", never_raised="NeverRaised")


def falsified(body: str) -> tuple[str, bool | None]:
    """The body of a test after one of its expectations has been falsified."""
    module = ast.parse("def test_it(p):\n" + "".join(f"    {line}\n" for line in dedent(body).splitlines()))
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    by_assertion = falsify(function, random.Random(1), NAMES)
    return "\n".join(map(ast.unparse, ast.fix_missing_locations(function).body)), by_assertion


@pytest.mark.parametrize(
    ("claim", "start", "unlike"),
    [
        ("f(p) == 5", "f(p) == ", "5"),
        ("5 == f(p)", "", "5 == f(p)"),
        ("f(p) == -1.5", "f(p) == ", "-1.5"),
        ("f(p) == 'text'", "f(p) == '", "'text'"),
        ("f(p) == []", "f(p) == [0]", "[]"),
        ("f(p) == {'a': [1, (2, 3)]}", "f(p) == {'a': [", "{'a': [1, (2, 3)]}"),
        ("f(p) == pytest.approx(0.5)", "f(p) == pytest.approx(", "approx(0.5)"),
        ("f(p) == expected", "f(p) == differing(expected, ", "== expected"),
        ("f(p) == Decimal('1.5')", "f(p) == differing(Decimal('1.5'), ", "== Decimal"),
        ("f(p) is None", "f(p) is not None", "is None"),
        ("f(p) is True", "f(p) is not True", "is True"),
        ("'x' in f(p)", "'x", "'x' in"),
        ("item not in f(p)", "item in f(p)", "not in"),
        ("f(p) != 3", "f(p) == 3", "!="),
        ("not f(p)", "f(p)", "not"),
        ("f(p) < 3", "not f(p) < 3", "assert f(p) < 3"),
        ("ready and f(p) == 5", "ready and f(p) == ", "5"),
    ],
)
def test_an_expectation_becomes_a_false_one(claim: str, start: str, unlike: str) -> None:
    text, by_assertion = falsified(f"assert {claim}")
    assert text.startswith(f"assert {start}")
    assert unlike not in text.replace("1.5", "1.5 ") or unlike == "-1.5"
    assert text != f"assert {claim}"
    assert by_assertion is True


def test_the_last_expectation_is_taken() -> None:
    text, _ = falsified("assert f(1) == 1\nassert f(2) == 2\nassert f(3) == 3")
    assert text.startswith("assert f(1) == 1\nassert f(2) == 2\n")
    assert "f(3) == 3" not in text


def test_an_equal_value_is_preferred_to_a_later_claim_of_another_kind() -> None:
    text, _ = falsified("assert f(1) == 1\nassert f(2)\nwith pytest.raises(KeyError):\n    f(3)")
    assert "assert f(2)" in text
    assert "pytest.raises(KeyError)" in text
    assert "f(1) == 1" not in text


def test_an_expectation_that_is_always_reached_is_preferred() -> None:
    text, _ = falsified("assert f(1) == 1\nif p:\n    assert f(2) == 2")
    assert "assert f(2) == 2" in text
    assert "f(1) == 1" not in text


def test_a_scenario_inside_the_test_is_looked_into() -> None:
    text, by_assertion = falsified("async def scenario():\n    assert f(1) == 1\nasyncio.run(scenario())")
    assert "f(1) == 1" not in text
    assert by_assertion is True


def test_where_only_an_exception_is_expected_another_one_is() -> None:
    text, by_assertion = falsified("with pytest.raises(KeyError, match='x'):\n    f(p)")
    assert "pytest.raises(NeverRaised, match='x')" in text
    assert by_assertion is False


def test_nothing_to_falsify_is_said() -> None:
    assert falsified("f(p)") == ("f(p)", None)


def test_each_test_has_a_twin_and_no_name_tells_which_is_which() -> None:
    twinned = twin_suite(suite_of(CART_TASK), 7)
    assert sorted(twinned.originals.values()) == sorted(
        test for ids in suite_of(CART_TASK).groups.values() for test in ids
    )
    assert {twin.original for twin in twinned.twins.values()} == set(twinned.originals)
    names = [test.partition("::")[2] for test in (*twinned.originals, *twinned.twins)]
    assert {len(name) for name in names} == {len("test_") + 12}
    for source in twinned.modules.values():
        assert "test_one_item" not in source


def test_names_and_order_change_with_the_seed_and_only_with_it() -> None:
    suite = suite_of(CART_TASK)
    assert twin_suite(suite, 1).modules == twin_suite(suite, 1).modules
    assert not twin_suite(suite, 1).originals.keys() & twin_suite(suite, 2).originals.keys()


def test_a_hidden_test_without_an_expectation_is_refused() -> None:
    task = small_task("X = 1\n", "from prog.core import X\n\n\ndef test_nothing():\n    print(X)\n")
    with pytest.raises(TaskError, match="test_nothing has no expectation"):
        twin_suite(suite_of(task), 1)


def test_a_visible_test_without_an_expectation_goes_without_a_twin() -> None:
    task = small_task(
        "X = 1\n",
        "from prog.core import X\n\n\ndef test_one():\n    assert X == 1\n",
        "from prog.core import X\n\n\ndef test_nothing():\n    print(X)\n",
    )
    assert twin_suite(suite_of(task), 1).untwinned == ("tests/test_visible.py::test_nothing",)
