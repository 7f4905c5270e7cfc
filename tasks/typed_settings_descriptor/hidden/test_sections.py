import pytest

from conf.fields import SettingError
from conf.model import Source
from conf.services import (
    BulkMailSettings,
    HttpSettings,
    MailSettings,
    ServiceSettings,
    WorkerSettings,
    load,
)


def test_every_service_has_its_own_timeout():
    file = {"http.timeout": "1", "worker.timeout": "60", "mail.timeout": "20", "bulk.timeout": "240"}
    settings = load(Source(file))
    found = {section: one.values()["timeout"] for section, one in settings.items()}
    assert found == {"http": 1.0, "worker": 60.0, "mail": 20.0, "bulk": 240.0}


def test_no_key_is_left_unread():
    file = {"http.retries": "1", "worker.verbose": "yes", "http.prt": "1"}
    source = Source(file, {"mail.retries": "2", "bulk.retries": "9"})
    for one in load(source).values():
        one.values()
    assert source.unread() == ["http.prt"]


def test_a_section_does_not_listen_to_another_one():
    file = {"bulk.timeout": "200", "bulk.verbose": "yes", "worker.queues": "night, day"}
    worker = WorkerSettings(Source(file))
    assert worker.values() == {"queues": ("night", "day"), "retries": 3, "timeout": 10.0, "verbose": False}


def test_templates_of_all_classes_name_their_section():
    assert HttpSettings.template() == [
        "http.port = 8080",
        "http.retries = 3",
        "http.scheme = http",
        "http.timeout = 10.0",
        "http.verbose = False",
    ]
    assert WorkerSettings.template()[-1] == "worker.verbose = False"


def test_complaints_name_the_section_of_the_settings():
    worker = WorkerSettings(Source({"worker.retries": "many"}))
    with pytest.raises(SettingError, match="^worker.retries: "):
        worker.values()
    with pytest.raises(SettingError, match="^worker.timeout: 0 is not between 0.1 and 300$"):
        worker.timeout = 0
    assert worker.timeout == 10.0


def test_the_common_settings_can_be_read_by_themselves():
    source = Source({"service.timeout": "7", "http.timeout": "8"})
    service = ServiceSettings(source, retries=0)
    assert service.values() == {"retries": 0, "timeout": 7.0, "verbose": False}


def test_a_grandchild_reads_a_field_of_its_parent_from_its_own_section():
    source = Source({"mail.sender": "a@example.org", "bulk.sender": "b@example.org"})
    assert MailSettings(source).values()["sender"] == "a@example.org"
    assert BulkMailSettings(source).values()["sender"] == "b@example.org"


def test_bounds_of_one_class_do_not_reach_another():
    bulk = BulkMailSettings(Source(), retries=15)
    mail = MailSettings(Source(), retries=4)
    assert (bulk.retries, mail.retries) == (15, 4)
    with pytest.raises(SettingError, match="^mail.retries: 15 is not between 0 and 9$"):
        mail.retries = 15
