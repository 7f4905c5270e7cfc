from glasshouse.desk import Desk
from glasshouse.links import Link
from glasshouse.panels import Alarm, Compare, Gauge, Log, Trend
from glasshouse.sensors import Sensor, Station
from glasshouse.units import Average, Step, Unit


def new_desk() -> Desk:
    station = Station()
    station.add("air")
    station.add("light")
    return Desk(station)


def test_alarm_replaced_under_its_title_is_silent() -> None:
    desk = new_desk()
    desk.open_alarm("hall", "heat", "air", 0, 30)
    desk.open_alarm("hall", "heat", "air", 0, 35)
    desk.station.read("air=32")
    desk.station.read("air=36")
    assert desk.log.lines() == ["heat: 36"]
    assert desk.station.watched() == {"air": 1, "light": 0}


def test_panels_of_a_cleared_page_are_off_their_sensors() -> None:
    desk = new_desk()
    desk.open_alarm("hall", "heat", "air", 0, 30)
    desk.open_trend("hall", "sun", "light")
    desk.open_gauge("hall", "lamp", "light", "klx")
    assert desk.station.watched() == {"air": 1, "light": 2}
    desk.clear("hall")
    assert desk.station.watched() == {"air": 0, "light": 0}


def test_closed_trend_is_off_its_sensor() -> None:
    desk = new_desk()
    desk.open_trend("hall", "sun", "light")
    desk.station.read("light=10")
    desk.close("hall", "sun")
    assert desk.station.watched()["light"] == 0
    assert desk.station.sensor("light").changed.tell(5) == 0


def test_trend_follows_its_running_average() -> None:
    desk = new_desk()
    desk.open_trend("hall", "sun", "light", size=2)
    for value in (10, 20, 0, 40, 0):
        desk.station.read(f"light={value}")
    assert desk.printout(["hall"]) == ["[hall]", "sun: -/\\/-", "[log]"]


def test_panel_that_never_was_on_the_desk_is_dropped() -> None:
    sensor = Sensor("air")
    Alarm("heat", sensor, 0, 30)
    Trend("air", sensor)
    Gauge("air", sensor)
    assert sensor.changed.watched() == 0


def test_panel_held_by_somebody_else_gets_values() -> None:
    sensor = Sensor("air")
    alarm = Alarm("heat", sensor, 0, 30)
    assert [sensor.set(value) for value in (31, 31, 12, 45)] == [True, False, True, True]
    assert alarm.lines() == ["heat: ALARM, raised 2 times"]
    del alarm
    assert sensor.changed.watched() == 0


def test_steps_made_for_one_link_live_with_it() -> None:
    sensor = Sensor("air")
    log = Log()
    Link(sensor.changed).convert(Average(2).push).only(Step(2).is_far).convert(Unit("K", 1, 273).text).to(log.note)
    for value in (10.0, 20.0, 14.0, 30.0):
        sensor.set(value)
    assert log.lines() == ["10.0 K", "15.0 K", "17.0 K", "22.0 K"]


def test_functions_and_own_methods_mix_on_one_link() -> None:
    sensor = Sensor("air")
    panel = Trend("air", Sensor("other"))
    watcher = Link(sensor.changed).only(lambda value: value > 0).convert(panel.mark).to(panel.draw)
    for value in (1, -1, 2, 1):
        sensor.set(value)
    assert panel.lines() == ["air: -/\\"]
    sensor.changed.cut(watcher)
    assert sensor.changed.tell(3) == 0
    panel = None
    assert watcher.owner() is None


def test_closed_pump_stops_pumping() -> None:
    desk = new_desk()
    desk.open_pump("hall", "mist", "air", 10, 20)
    desk.station.read("air=5")
    desk.close("hall", "mist")
    desk.station.read("air=25")
    desk.station.read("air=5")
    assert desk.log.lines() == ["mist on"]
    assert desk.station.watched() == {"air": 0, "light": 0}


def test_comparison_and_every_second_value() -> None:
    left, right, log = Sensor("left"), Sensor("right"), Log()
    panel = Compare("gap", left, right)
    Link(left.changed).every(2).convert(str).to(log.note)
    assert panel.lines() == ["gap: no value"]
    for value in (5, 6, 7):
        left.set(value)
    right.set(4.5)
    assert panel.lines() == ["gap: 2.5 C apart"]
    assert log.lines() == ["5", "7"]
