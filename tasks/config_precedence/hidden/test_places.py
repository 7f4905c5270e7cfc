import pytest
from relay.settings import load
from relay.sources import SettingsError

EVERYWHERE = {"RELAY_HOST": "environment.example", "RELAY_PORT": "2", "RELAY_RECIPIENTS": "eve"}


def write(folder, text):
    path = folder / "settings"
    path.write_text(text, encoding="utf-8")
    return path


def test_all_four_places_at_once(tmp_path):
    path = write(tmp_path, "host = file.example\nport = 3\nsecure = yes\n")

    settings = load(["--host", "argument.example"], EVERYWHERE, path)

    assert (settings.host, settings.port, settings.secure) == ("argument.example", 2, True)
    assert settings.recipients == ("eve",)


def test_origins(tmp_path):
    path = write(tmp_path, "host = file.example\nport = 3\n")

    settings = load(["--recipients", "max"], EVERYWHERE, path)

    assert sorted(settings.origins.items()) == [
        ("host", "environment"),
        ("port", "environment"),
        ("recipients", "arguments"),
        ("secure", "defaults"),
    ]


def test_argument_beside_the_environment():
    settings = load(["--port", "1"], EVERYWHERE)

    assert (settings.port, settings.origins["port"]) == (1, "arguments")


def test_empty_variable_leaves_the_file_in_force(tmp_path):
    settings = load([], {"RELAY_PORT": ""}, write(tmp_path, "port = 3 # three\n"))

    assert (settings.port, settings.origins["port"]) == (3, "file")


def test_environment_takes_back_what_the_file_turns_on(tmp_path):
    settings = load([], {"RELAY_SECURE": "no"}, write(tmp_path, "secure = yes\n"))

    assert (settings.secure, settings.origins["secure"]) == (False, "environment")


def test_file_without_settings(tmp_path):
    settings = load([], EVERYWHERE, write(tmp_path, "\n# nothing yet\n"))

    assert (settings.host, settings.port) == ("environment.example", 2)


def test_line_that_is_no_setting(tmp_path):
    path = write(tmp_path, "host = here\ncolour = red\n")

    with pytest.raises(SettingsError) as caught:
        load([], {}, path)
    assert str(caught.value) == "Line 2 of settings is not a setting: colour = red"
