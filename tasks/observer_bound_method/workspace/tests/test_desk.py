from glasshouse.desk import Desk
from glasshouse.sensors import Station


def new_desk() -> Desk:
    station = Station()
    station.add("air", -40, 60)
    station.add("soil", 0, 100)
    return Desk(station)


def test_gauge_shows_its_unit_and_the_top() -> None:
    desk = new_desk()
    desk.open_gauge("north", "air", "air", "F")
    desk.station.read("air=20")
    desk.station.read("air=15")
    assert desk.printout() == ["[north]", "air: 59.0 F (top 68.0 F)", "[log]"]


def test_gauge_without_a_value_says_so() -> None:
    desk = new_desk()
    desk.open_gauge("north", "soil", "soil", "%", step=5)
    assert desk.printout(["north"]) == ["[north]", "soil: no value", "[log]"]


def test_pump_runs_from_dry_to_wet() -> None:
    desk = new_desk()
    desk.open_pump("north", "pump", "soil", 20, 60)
    for value in (50, 20, 40, 60, 30):
        desk.station.read(f"soil={value}")
    assert desk.log.lines() == ["pump on", "pump off"]
    assert desk.printout()[1] == "pump: at rest"


def test_moved_panel_goes_on() -> None:
    desk = new_desk()
    desk.open_alarm("north", "frost", "air", 2, 50)
    desk.move("frost", "north", "south")
    desk.station.read("air=1")
    assert desk.titles("south") == ["frost"]
    assert desk.log.lines() == ["frost: 1"]


def test_closed_gauge_is_off_its_sensor() -> None:
    desk = new_desk()
    desk.open_gauge("north", "air", "air", "F")
    desk.close("north", "air")
    assert desk.station.watched() == {"air": 0, "soil": 0}
    assert desk.closed() == ["air"]


def test_alarm_is_noted_each_time_the_range_is_left() -> None:
    desk = new_desk()
    desk.open_alarm("north", "frost", "air", 2, 50)
    for value in (5, 1, 0, 4, -1):
        desk.station.read(f"air={value}")
    assert desk.log.lines() == ["frost: 1", "frost: -1"]
    assert desk.printout()[1] == "frost: ALARM, raised 2 times"


def test_closed_alarm_is_silent() -> None:
    desk = new_desk()
    desk.open_alarm("north", "frost", "air", 2, 50)
    desk.station.read("air=1")
    desk.close("north", "frost")
    desk.station.read("air=8")
    desk.station.read("air=0")
    assert desk.log.lines() == ["frost: 1"]


def test_alarm_stays_on_when_another_is_closed() -> None:
    desk = new_desk()
    desk.open_alarm("north", "frost", "air", 2, 50)
    desk.open_alarm("south", "dry", "soil", 30, 100)
    desk.close("north", "frost")
    desk.station.read("soil=20")
    assert desk.log.lines() == ["dry: 20"]


def test_values_that_cannot_be_are_refused() -> None:
    desk = new_desk()
    assert desk.station.read("air=900 soil=x rain=3 soil=10") == 1
    assert desk.station.refused == ["soil=x", "rain=3"]


def test_cleared_page_has_no_panels() -> None:
    desk = new_desk()
    desk.open_gauge("north", "air", "air")
    desk.open_gauge("north", "soil", "soil", "%")
    desk.clear("north")
    assert desk.titles("north") == []
    assert desk.closed() == ["air", "soil"]
