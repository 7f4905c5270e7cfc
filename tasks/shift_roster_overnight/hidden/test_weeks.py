from datetime import date, datetime, timedelta, timezone

import pytest

from roster.plan import Roster, RosterError
from roster.sites import Site
from roster.spans import Span
from roster.timesheet import Rates, all_sheets, payroll_week, time_sheet

SITES = (Site("office", "+01:00"), Site("pier", "-05:00"), Site("mine", "+09:30", night="20:00-05:00"))


def roster(*lines: str) -> Roster:
    made = Roster(SITES)
    made.read(lines)
    return made


def test_a_shift_begun_before_the_week_is_booked_on_the_days_of_its_site():
    sheet = time_sheet(roster("2024-03-03 pier 16:30-02:30 ben"), "ben", payroll_week(date(2024, 3, 4)))
    assert sheet.by_day == {"2024-03-03": 360, "2024-03-04": 150}
    assert sheet.total == 510


def test_the_night_of_the_first_shift_is_that_of_its_site():
    sheet = time_sheet(roster("2024-03-03 pier 18:00-02:00 ben"), "ben", payroll_week(date(2024, 3, 4)))
    assert sheet.night == 240
    later = time_sheet(roster("2024-03-03 pier 17:00-23:00 ben"), "ben", payroll_week(date(2024, 3, 4)))
    assert later.night == 60


def test_a_day_shift_at_the_mine_has_no_night_in_it():
    sheet = time_sheet(roster("2024-03-04 mine 06:00-14:00 eve"), "eve", payroll_week(date(2024, 3, 4)))
    assert sheet.by_day == {"2024-03-04": 330}
    assert sheet.night == 0


def test_the_week_ends_at_midnight_of_the_head_office():
    sheet = time_sheet(roster("2024-03-10 pier 12:00-22:00 ben"), "ben", payroll_week(date(2024, 3, 4)))
    assert sheet.by_day == {"2024-03-10": 360}
    following = time_sheet(roster("2024-03-10 pier 12:00-22:00 ben"), "ben", payroll_week(date(2024, 3, 11)))
    assert following.by_day == {"2024-03-10": 240}


def test_a_week_at_two_sites_is_booked_day_by_day():
    plan = roster(
        "2024-03-03 pier 14:00-00:00 ada",
        "2024-03-06 mine 20:30-04:30 ada",
        "2024-03-08 office 23:00-03:00 ada",
    )
    sheet = all_sheets(plan, payroll_week(date(2024, 3, 7)))["ada"]
    assert sheet.by_day == {
        "2024-03-03": 360,
        "2024-03-06": 210,
        "2024-03-07": 270,
        "2024-03-08": 60,
        "2024-03-09": 180,
    }
    assert sheet.by_site == {"mine": 480, "office": 240, "pier": 360}
    assert sheet.night == 840


def test_a_part_of_a_span_is_told_by_the_clock_of_the_span():
    west = timezone(timedelta(hours=-5))
    window = Span(
        datetime(2024, 3, 4, 0, 0, tzinfo=timezone.utc), datetime(2024, 3, 4, 6, 0, tzinfo=timezone.utc)
    )
    span = Span(datetime(2024, 3, 3, 12, 0, tzinfo=west), datetime(2024, 3, 4, 12, 0, tzinfo=west))
    part = span.clipped(window)
    assert part is not None
    assert [day.isoformat() for day, _ in part.days()] == ["2024-03-03", "2024-03-04"]
    assert [piece.minutes for _, piece in part.days()] == [300, 60]


def test_the_sunday_of_the_site_is_paid_as_one():
    sheet = time_sheet(roster("2024-03-03 pier 17:00-01:00 ben"), "ben", payroll_week(date(2024, 3, 4)))
    assert sheet.lines() == ["ben", "2024-03-03 6:00", "2024-03-04 1:00", "total 7:00, night 3:00"]
    assert sheet.pay_cents(Rates(1800, night_percent=20)) == 19080


def test_rest_counts_across_clocks():
    plan = roster("2024-03-05 mine 08:00-16:00 ada")
    plan.read(["2024-03-05 pier 12:30-20:00 ada"])
    with pytest.raises(RosterError, match="ada has too little rest after pier"):
        plan.read(["2024-03-06 office 12:00-14:00 ada"])
    assert [shift.site.name for shift in plan.shifts("ada")] == ["mine", "pier"]
