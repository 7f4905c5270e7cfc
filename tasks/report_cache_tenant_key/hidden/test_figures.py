from bureau.desk import Desk
from bureau.ledger import Entry, Ledger
from bureau.shelf import Shelf

MAY = "2025-05"


def new_desk(room: int = 200) -> Desk:
    desk = Desk(Ledger(), Shelf(room))
    for branch, sales, costs in (("north", 1_000, 400), ("south", 3_000, 3_500)):
        desk.post(Entry("kiln", branch, "sales", MAY, sales))
        desk.post(Entry("kiln", branch, "costs", MAY, costs))
    desk.post(Entry("loft", "attic", "sales", MAY, 70))
    return desk


def test_totals_of_two_tenants() -> None:
    desk = new_desk()
    totals = [desk.total(MAY, "sales", tenant=tenant) for tenant in ("kiln", "loft", "none")]
    assert totals == [4_000, 70, 0]


def test_total_of_the_bureau_after_that_of_a_tenant() -> None:
    desk = new_desk()
    assert desk.total(MAY, "sales", tenant="loft") == 70
    assert desk.total(MAY, "sales") == 4_070


def test_result_of_each_branch() -> None:
    desk = new_desk()
    assert desk.branch_results("kiln", MAY) == {"north": 600, "south": -500}


def test_branch_total_after_the_total_of_its_tenant() -> None:
    desk = new_desk()
    assert desk.total(MAY, "sales", tenant="kiln") == 4_000
    assert desk.total(MAY, "sales", tenant="kiln", branch="south") == 3_000


def test_total_by_branch_of_all_tenants() -> None:
    desk = new_desk()
    desk.post(Entry("loft", "north", "sales", MAY, 5))
    assert desk.total(MAY, "sales", branch="north") == 1_005
    assert desk.total(MAY, "sales", branch="south") == 3_000


def test_statements_in_turn_for_two_tenants_and_two_countries() -> None:
    desk = new_desk()
    lines = [
        desk.statement(tenant, MAY, locale).splitlines()[1:]
        for locale in ("en", "de")
        for tenant in ("kiln", "loft")
    ]
    assert lines == [
        ["sales 40.00", "result 1.00 (2% of sales)"],
        ["sales 0.70", "result 0.70 (100% of sales)"],
        ["sales 40,00", "result 1,00 (2% of sales)"],
        ["sales 0,70", "result 0,70 (100% of sales)"],
    ]


def test_answers_of_other_tenants_stay_when_one_posts() -> None:
    desk = new_desk()
    desk.total(MAY, "sales", tenant="kiln")
    desk.total(MAY, "sales", tenant="loft")
    reads = desk.ledger.reads
    desk.post(Entry("loft", "attic", "sales", MAY, 30))
    assert desk.total(MAY, "sales", tenant="kiln") == 4_000
    assert desk.ledger.reads == reads
    assert desk.total(MAY, "sales", tenant="loft") == 100


def test_ranking_puts_the_best_result_first() -> None:
    desk = new_desk()
    desk.post(Entry("arch", "main", "sales", MAY, 900))
    assert desk.ranking(MAY) == ["arch", "kiln", "loft"]


def test_course_of_an_account_for_two_tenants() -> None:
    desk = new_desk()
    desk.post(Entry("loft", "attic", "sales", "2025-06", 50))
    desk.post(Entry("kiln", "north", "sales", "2025-06", 123_456))
    assert desk.course("kiln", "sales") == ["2025-05 40.00", "2025-06 1,234.56 (1,194.56)"]
    assert desk.course("loft", "sales", "audit") == ["2025-05 0.70", "2025-06 0.50 (less 0.20)"]


def test_each_answer_is_counted_once() -> None:
    desk = new_desk()
    for _ in range(3):
        desk.branch_results("kiln", MAY)
    assert desk.ledger.reads == 4
    assert desk.shelf.hits == 8
