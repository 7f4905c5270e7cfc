"""The settings of our services."""

from conf.fields import Choice, Field, Flag, Number, Words
from conf.model import Settings, Source


class ServiceSettings(Settings, section="service"):
    """What every service can be told."""

    timeout = Number(10.0, low=0.1, high=300)
    retries = Number(3, high=9)
    verbose = Flag(False)


class HttpSettings(ServiceSettings, section="http"):
    """The public door."""

    port = Number(8080, low=1, high=65535)
    scheme = Choice("http", "https")


class WorkerSettings(ServiceSettings, section="worker"):
    """What runs jobs."""

    queues = Words("default")


class MailSettings(ServiceSettings, section="mail"):
    """What sends letters one by one."""

    sender = Field("desk@example.org")


class BulkMailSettings(MailSettings, section="bulk"):
    """What sends one letter to many; patient by default."""

    retries = Number(6, high=20)
    batch = Number(50, low=1)


def load(source: Source) -> dict[str, Settings]:
    """The settings of all services, by section."""
    kinds = (HttpSettings, WorkerSettings, MailSettings, BulkMailSettings)
    return {kind.section: kind(source) for kind in kinds}
