import pytest
from relay.settings import load
from relay.sources import SettingsError


def settings_file(folder, text):
    path = folder / "relay.conf"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults():
    settings = load([], {})

    assert (settings.host, settings.port) == ("localhost", 25)
    assert (settings.secure, settings.recipients) == (False, ())


def test_file_is_read(tmp_path):
    path = settings_file(tmp_path, "# the relay in the cellar\nport = 2525\nrecipients = ada, grace\n")

    settings = load([], {}, path)

    assert (settings.port, settings.recipients) == (2525, ("ada", "grace"))


def test_environment_is_read():
    settings = load([], {"RELAY_SECURE": "yes", "RELAY_HOST": "", "HOST": "elsewhere"})

    assert (settings.host, settings.secure) == ("localhost", True)


def test_arguments_are_read():
    assert load(["--host", "mail.example", "--port", "587"], {}).port == 587


def test_environment_beside_a_file(tmp_path):
    path = settings_file(tmp_path, "host = file.example\nport = 2525\n")

    settings = load([], {"RELAY_PORT": "465"}, path)

    assert (settings.host, settings.port) == ("file.example", 465)


def test_arguments_beside_a_file(tmp_path):
    path = settings_file(tmp_path, "port = 2525\n")

    settings = load(["--port", "587"], {}, path)

    assert (settings.port, settings.origins["port"]) == (587, "arguments")


def test_settings_that_cannot_be_read():
    for arguments in (["--port", "0"], ["--port"], ["--colour", "red"], ["--secure", "maybe"]):
        with pytest.raises(SettingsError):
            load(arguments, {})
