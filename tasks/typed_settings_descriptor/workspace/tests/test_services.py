import pytest

from conf.fields import SettingError
from conf.model import Source
from conf.services import BulkMailSettings, HttpSettings, load


def test_a_service_reads_what_the_file_says_of_its_section():
    file = {"http.timeout": "2.5", "http.port": "443", "http.scheme": "https"}
    http = HttpSettings(Source(file))
    assert http.values() == {
        "port": 443,
        "retries": 3,
        "scheme": "https",
        "timeout": 2.5,
        "verbose": False,
    }


def test_an_earlier_layer_wins():
    source = Source({"http.port": "9000"}, {"http.port": "443", "http.scheme": "https"})
    http = HttpSettings(source)
    assert (http.port, http.scheme) == (9000, "https")


def test_settings_without_a_text_have_their_default():
    settings = load(Source())
    assert settings["worker"].values() == {
        "queues": ("default",),
        "retries": 3,
        "timeout": 10.0,
        "verbose": False,
    }
    assert settings["bulk"].values()["retries"] == 6


def test_bulk_mail_reads_its_section():
    bulk = BulkMailSettings(Source({"BULK.RETRIES": "12", "bulk.timeout": " 120 "}))
    assert (bulk.retries, bulk.timeout, bulk.batch) == (12, 120.0, 50)


def test_a_given_value_is_checked_and_kept():
    http = HttpSettings(Source({"http.port": "443"}), port=8443)
    assert http.port == 8443
    with pytest.raises(SettingError, match="^http.port: 70000 is not between 1 and 65535$"):
        http.port = 70000


def test_a_text_of_another_type_is_refused():
    http = HttpSettings(Source({"http.scheme": "gopher"}))
    with pytest.raises(SettingError, match="^http.scheme: 'gopher' is none of http, https$"):
        http.values()


def test_the_template_names_keys_and_defaults():
    assert BulkMailSettings.template() == [
        "bulk.batch = 50",
        "bulk.retries = 6",
        "bulk.sender = desk@example.org",
        "bulk.timeout = 10.0",
        "bulk.verbose = False",
    ]
