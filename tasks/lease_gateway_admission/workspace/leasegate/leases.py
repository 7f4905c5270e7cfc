"""Windows, tenants, requests, leases and decisions."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Window:
    """The minutes from ``start`` up to, not including, ``end``."""

    start: int
    end: int

    @property
    def minutes(self) -> int:
        """The length."""
        return self.end - self.start

    def overlaps(self, other: "Window") -> bool:
        """Whether the two have a minute in common."""
        return self.start < other.end and other.start < self.end

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


@dataclass(frozen=True)
class Tenant:
    """Somebody who may lease, and how much."""

    name: str
    longest_minutes: int = 480
    most_leases: int = 5


@dataclass(frozen=True)
class LeaseRequest:
    """A wish for a rig of some kind; without ``start`` from now on."""

    tenant: str
    kind: str
    minutes: int
    start: int | None = None

    def window(self, now: int) -> Window:
        """The window that is asked for."""
        start = now if self.start is None else self.start
        return Window(start, start + self.minutes)


@dataclass(frozen=True)
class Lease:
    """The right of a tenant to use a rig for a window."""

    tenant: str
    rig: str
    window: Window

    @property
    def key(self) -> str:
        """What the lease is known by."""
        return f"{self.rig}@{self.window}"

    @property
    def minutes(self) -> int:
        """The length of the window."""
        return self.window.minutes

    def lasting(self, minutes: int) -> "Lease":
        """The same lease with another length."""
        start = self.window.start
        return replace(self, window=Window(start, start + minutes))


@dataclass(frozen=True)
class Decision:
    """The answer to a request: a lease, or the reason why there is none."""

    lease: Lease | None
    reason: str | None = None

    @property
    def granted(self) -> bool:
        """Whether there is a lease."""
        return self.lease is not None

    @property
    def key(self) -> str | None:
        """The key of the lease, if there is one."""
        return None if self.lease is None else self.lease.key
