import pytest
from relay.settings import load
from relay.sources import SettingsError


def test_defaults():
    settings = load([], {})

    assert (settings.host, settings.port) == ("localhost", 25)
    assert (settings.secure, settings.recipients) == (False, ())


def test_file_is_read():
    settings = load([], {}, ["# the relay in the cellar", "port = 2525", "recipients = ada, grace"])

    assert (settings.port, settings.recipients) == (2525, ("ada", "grace"))


def test_environment_is_read():
    settings = load([], {"RELAY_SECURE": "yes", "RELAY_HOST": "", "HOST": "elsewhere"})

    assert (settings.host, settings.secure) == ("localhost", True)


def test_arguments_are_read():
    assert load(["--host", "mail.example", "--port", "587"], {}).port == 587


def test_environment_beside_a_file():
    settings = load([], {"RELAY_PORT": "465"}, ["host = file.example", "port = 2525"])

    assert (settings.host, settings.port) == ("file.example", 465)


def test_arguments_beside_a_file():
    settings = load(["--port", "587"], {}, ["port = 2525"])

    assert (settings.port, settings.origins["port"]) == (587, "arguments")


def test_settings_that_cannot_be_read():
    for arguments in (["--port", "0"], ["--port"], ["--colour", "red"], ["--secure", "maybe"]):
        with pytest.raises(SettingsError):
            load(arguments, {})
