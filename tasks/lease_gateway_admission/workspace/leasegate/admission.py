"""The way of a request through checks, pool and rules."""

from leasegate.clock import Clock
from leasegate.events import Amended, EventBus, Refused, Withdrawn
from leasegate.leases import Decision, Lease, LeaseRequest
from leasegate.pool import RigPool
from leasegate.rules import Rejected, RequestCheck, RuleChain


class Admission:
    """Decides on requests."""

    def __init__(
        self, clock: Clock, bus: EventBus, pool: RigPool, check: RequestCheck, rules: RuleChain
    ) -> None:
        self._clock = clock
        self._bus = bus
        self._pool = pool
        self._check = check
        self._rules = rules

    def admit(self, request: LeaseRequest) -> Decision:
        """A lease for the request, or a refusal."""
        try:
            return Decision(self._grant(request))
        except Rejected as rejection:
            if rejection.lease is not None:
                self._bus.publish(Withdrawn(rejection.lease, rejection.reason))
            self._bus.publish(Refused(request, rejection.reason))
            return Decision(None, rejection.reason)

    def extend(self, lease: Lease, minutes: int) -> Decision:
        """Another length for a granted lease, or a refusal that leaves it as it is."""
        if not self._pool.can_last(lease, minutes):
            return Decision(None, "the rig is taken")
        try:
            extended = self._rules.review(lease.lasting(minutes))
        except Rejected as rejection:
            return Decision(None, rejection.reason)
        self._bus.publish(Amended(lease, extended))
        return Decision(extended)

    def _grant(self, request: LeaseRequest) -> Lease:
        now = self._clock.now()
        self._check.check(request, now)
        booked = self._pool.acquire(request, now)
        if booked is None:
            raise Rejected("no rig is free")
        allowed = self._rules.review(booked)
        if allowed != booked:
            self._bus.publish(Amended(booked, allowed))
        return allowed
