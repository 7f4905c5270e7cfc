from leasegate.clock import ManualClock
from leasegate.gateway import Gateway
from leasegate.leases import Tenant

RIGS = {"oven-1": "oven", "oven-2": "oven", "shaker-1": "shaker"}
TENANTS = (
    Tenant("staff", longest_minutes=240, most_leases=3),
    Tenant("guest", longest_minutes=90, most_leases=1),
    Tenant("class", longest_minutes=45, most_leases=2),
)


def open_gateway(minute=0):
    clock = ManualClock(minute)
    return clock, Gateway(clock, RIGS, TENANTS)


def test_a_refused_tenant_has_no_lease_and_no_minutes():
    _, gateway = open_gateway()
    gateway.plan_maintenance("shaker-1", 60, 120)
    assert gateway.request("guest", "shaker", 180).reason == "maintenance"
    assert gateway.account("guest") == (0, 0)
    assert gateway.open_leases() == []


def test_refusals_do_not_use_up_what_a_tenant_may_have():
    _, gateway = open_gateway()
    gateway.plan_maintenance("shaker-1", 15, 30)
    reasons = [gateway.request("class", "shaker", 60).reason for _ in range(4)]
    assert reasons == ["maintenance", "maintenance", "maintenance", "maintenance"]
    assert gateway.request("class", "oven", 60).key == "oven-1@0-45"
    assert gateway.account("class") == (1, 45)


def test_a_long_request_that_is_one_too_many_leaves_the_first_lease_alone():
    _, gateway = open_gateway()
    assert gateway.request("guest", "oven", 120).key == "oven-1@0-90"
    assert gateway.request("guest", "oven", 120).reason == "too many leases"
    assert gateway.open_leases() == ["oven-1@0-90"]
    assert gateway.account("guest") == (1, 90)


def test_somebody_else_gets_the_rig_of_a_refused_request():
    _, gateway = open_gateway()
    gateway.plan_maintenance("shaker-1", 75, 90)
    assert gateway.request("guest", "shaker", 240).granted is False
    assert gateway.request("staff", "shaker", 75).key == "shaker-1@0-75"


def test_a_lease_that_is_shortened_out_of_maintenance_is_granted():
    _, gateway = open_gateway()
    gateway.plan_maintenance("oven-1", 90, 150)
    assert gateway.request("guest", "oven", 240).key == "oven-1@0-90"
    assert gateway.account("guest") == (1, 90)


def test_a_refusal_far_ahead_leaves_the_calendar_free():
    _, gateway = open_gateway(30)
    gateway.plan_maintenance("shaker-1", 600, 615)
    assert gateway.request("staff", "shaker", 300, start=570).reason == "maintenance"
    assert gateway.free_rigs("shaker", 570, 900) == ["shaker-1"]
    assert gateway.request("staff", "shaker", 30, start=570).key == "shaker-1@570-600"


def test_the_history_tells_of_a_refusal_and_of_the_rig_that_came_back():
    _, gateway = open_gateway(10)
    gateway.plan_maintenance("shaker-1", 20, 30)
    gateway.request("guest", "shaker", 120)
    lines = gateway.history()
    assert lines[0] == "10 booked shaker-1@10-130"
    assert lines[-1] == "10 refused guest: maintenance"
    assert [line.split()[1] for line in lines].count("withdrawn") == 1


def test_a_refused_extension_leaves_the_lease_as_it_is():
    _, gateway = open_gateway()
    key = gateway.request("staff", "shaker", 60).key
    gateway.plan_maintenance("shaker-1", 90, 120)
    assert gateway.extend(key, 300).reason == "maintenance"
    assert gateway.open_leases() == ["shaker-1@0-60"]
    assert gateway.account("staff") == (1, 60)


def test_sweeping_after_refusals_finds_nothing_to_end():
    clock, gateway = open_gateway()
    gateway.plan_maintenance("oven-1", 0, 15)
    gateway.request("class", "oven", 90)
    clock.move_on(500)
    assert gateway.sweep() == 0
