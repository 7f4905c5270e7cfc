from datetime import date

import pytest

from roster.plan import Roster, RosterError
from roster.sites import Site
from roster.timesheet import Rates, all_sheets, payroll_week, time_sheet

SITES = (Site("office", "+01:00"), Site("pier", "-05:00"), Site("mine", "+09:30"))
WEEK = payroll_week(date(2024, 3, 6))


def roster(*lines: str) -> Roster:
    made = Roster(SITES)
    made.read(lines)
    return made


def test_a_night_shift_is_booked_on_both_of_its_days():
    sheet = time_sheet(roster("2024-03-06 pier 22:00-06:00 ada"), "ada", WEEK)
    assert sheet.by_day == {"2024-03-06": 120, "2024-03-07": 360}
    assert sheet.night == 480


def test_an_evening_at_the_pier_that_opens_the_week_is_booked_on_its_days():
    sheet = time_sheet(roster("2024-03-03 pier 18:00-02:00 ada"), "ada", WEEK)
    assert sheet.by_day == {"2024-03-03": 360, "2024-03-04": 120}


def test_only_what_lies_in_the_week_counts():
    plan = roster("2024-03-03 office 20:00-04:00 ada", "2024-03-10 office 21:00-05:00 ada")
    sheet = time_sheet(plan, "ada", WEEK)
    assert sheet.by_day == {"2024-03-04": 240, "2024-03-10": 180}
    assert sheet.total == 420


def test_sites_and_long_days_are_listed():
    plan = roster("2024-03-05 office 08:00-19:00 ada, ben", "2024-03-07 mine 09:00-15:00 ada")
    sheets = all_sheets(plan, WEEK)
    assert sheets["ada"].by_site == {"mine": 360, "office": 660}
    assert sheets["ben"].long_days() == ["2024-03-05"]


def test_a_person_needs_rest_between_sites():
    plan = roster("2024-03-05 mine 20:00-04:00 ada")
    with pytest.raises(RosterError, match="ada has too little rest after mine"):
        plan.read(["2024-03-05 pier 18:00-22:00 ada"])


def test_a_person_is_at_one_place_at_a_time():
    plan = roster("2024-03-05 office 08:00-16:00 ada")
    with pytest.raises(RosterError, match="ada is at office at that time"):
        plan.read(["2024-03-05 pier 08:00-16:00 ada"])


def test_a_sheet_is_printed_and_paid():
    sheet = time_sheet(roster("2024-03-09 office 21:00-01:30 ada"), "ada", WEEK)
    assert sheet.lines() == ["ada", "2024-03-09 3:00", "2024-03-10 1:30", "total 4:30, night 3:30"]
    assert sheet.pay_cents(Rates(2000)) == 12250


def test_a_shift_is_handed_over_to_somebody_who_can_work_it():
    plan = roster("2024-03-05 office 08:00-16:00 ada", "2024-03-05 pier 08:00-16:00 ben")
    (shift,) = plan.shifts("ada")
    with pytest.raises(RosterError, match="ben is at pier at that time"):
        plan.hand_over(shift, "ben")
    plan.hand_over(shift, "eve")
    assert plan.people() == ["ben", "eve"]
