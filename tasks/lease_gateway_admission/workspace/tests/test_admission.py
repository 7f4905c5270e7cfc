from leasegate.clock import ManualClock
from leasegate.gateway import Gateway
from leasegate.leases import Tenant

RIGS = {"scope-1": "scope", "scope-2": "scope", "oven-1": "oven"}
TENANTS = (Tenant("staff"), Tenant("guest", longest_minutes=60, most_leases=2))


def open_gateway(minute=0):
    clock = ManualClock(minute)
    return clock, Gateway(clock, RIGS, TENANTS)


def test_a_request_gets_the_first_free_rig():
    _, gateway = open_gateway(30)
    keys = [gateway.request("staff", "scope", 45).key for _ in range(3)]
    assert keys == ["scope-1@30-75", "scope-2@30-75", None]


def test_a_lease_is_not_longer_than_its_tenant_may_have():
    _, gateway = open_gateway()
    assert gateway.request("guest", "oven", 120).key == "oven-1@0-60"
    assert gateway.account("guest") == (1, 60)


def test_a_request_that_makes_no_sense_is_refused():
    _, gateway = open_gateway()
    reasons = [
        gateway.request("nobody", "oven", 30).reason,
        gateway.request("staff", "crane", 30).reason,
        gateway.request("staff", "oven", 20).reason,
    ]
    assert reasons == ["unknown tenant", "unknown kind", "minutes come in steps of 15"]
    assert gateway.open_leases() == []


def test_a_lease_that_meets_maintenance_is_refused():
    _, gateway = open_gateway()
    gateway.plan_maintenance("oven-1", 30, 90)
    decision = gateway.request("staff", "oven", 45)
    assert (decision.granted, decision.reason) == (False, "maintenance")
    assert gateway.open_leases() == []


def test_a_refused_guest_takes_no_rig():
    _, gateway = open_gateway()
    gateway.plan_maintenance("oven-1", 30, 90)
    decision = gateway.request("guest", "oven", 120)
    assert (decision.granted, decision.reason) == (False, "maintenance")
    assert gateway.open_leases() == []
    assert gateway.free_rigs("oven", 0, 120) == ["oven-1"]


def test_a_lease_ends_when_its_time_is_over():
    clock, gateway = open_gateway()
    gateway.request("staff", "oven", 30)
    clock.move_on(30)
    assert gateway.request("guest", "oven", 15).key == "oven-1@30-45"


def test_a_lease_can_be_given_back_once():
    _, gateway = open_gateway()
    key = gateway.request("staff", "oven", 60).key
    assert (gateway.give_back(key), gateway.give_back(key)) == (True, False)
    assert gateway.account("staff") == (0, 0)


def test_a_lease_can_be_extended_up_to_the_next_one():
    _, gateway = open_gateway()
    key = gateway.request("staff", "oven", 30).key
    gateway.request("staff", "oven", 30, start=90)
    assert gateway.extend(key, 120).reason == "the rig is taken"
    assert gateway.extend(key, 90).key == "oven-1@0-90"
    assert gateway.account("staff") == (2, 120)
