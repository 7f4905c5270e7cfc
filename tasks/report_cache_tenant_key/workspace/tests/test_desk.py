import pytest

from bureau.desk import Desk
from bureau.ledger import Entry, Ledger

MARCH = "2025-03"


def new_desk() -> Desk:
    desk = Desk(Ledger())
    desk.post(Entry("acme", "harbour", "sales", MARCH, 150_000))
    desk.post(Entry("acme", "harbour", "costs", MARCH, 90_000))
    desk.post(Entry("birch", "mill", "sales", MARCH, 400_000))
    desk.post(Entry("birch", "mill", "costs", MARCH, 100_000))
    desk.post(Entry("birch", "mill", "costs", MARCH, 20_000))
    return desk


def test_statement_of_one_tenant() -> None:
    desk = new_desk()
    assert desk.statement("acme", MARCH).splitlines() == [
        "acme, 2025-03: 2 entries",
        "sales 1,500.00",
        "result 600.00 (40% of sales)",
    ]


def test_statements_of_two_tenants() -> None:
    desk = new_desk()
    desk.statement("acme", MARCH)
    assert desk.statement("birch", MARCH).splitlines() == [
        "birch, 2025-03: 3 entries",
        "sales 4,000.00",
        "result 2,800.00 (70% of sales)",
    ]


def test_statement_in_two_countries() -> None:
    desk = new_desk()
    assert "sales 1,500.00" in desk.statement("acme", MARCH)
    assert "sales 1'500.00" in desk.statement("acme", MARCH, locale="ch")


def test_statement_asked_for_again_is_not_counted_again() -> None:
    desk = new_desk()
    first = desk.statement("acme", MARCH)
    reads = desk.ledger.reads
    assert desk.statement("acme", MARCH) == first
    assert desk.ledger.reads == reads


def test_posting_renews_a_statement() -> None:
    desk = new_desk()
    desk.statement("acme", MARCH)
    desk.post(Entry("acme", "harbour", "sales", MARCH, 50_000))
    assert "sales 2,000.00" in desk.statement("acme", MARCH)


def test_result_of_the_whole_bureau_follows_every_tenant() -> None:
    desk = new_desk()
    assert desk.result(MARCH) == 340_000
    desk.post(Entry("birch", "mill", "costs", MARCH, 40_000))
    assert desk.result(MARCH) == 300_000


def test_course_of_an_account() -> None:
    desk = new_desk()
    desk.post(Entry("acme", "harbour", "sales", "2025-04", 120_000))
    assert desk.course("acme", "sales") == ["2025-03 1,500.00", "2025-04 1,200.00 (-300.00)"]


def test_negative_amounts_are_refused() -> None:
    with pytest.raises(ValueError):
        new_desk().post(Entry("acme", "harbour", "sales", MARCH, -1))
