import pytest
from relay.settings import load
from relay.sources import SettingsError

EVERYWHERE = {"RELAY_HOST": "environment.example", "RELAY_PORT": "2", "RELAY_RECIPIENTS": "eve"}


def test_all_four_places_at_once():
    file = ["host = file.example", "port = 3", "secure = yes"]

    settings = load(["--host", "argument.example"], EVERYWHERE, file)

    assert (settings.host, settings.port, settings.secure) == ("argument.example", 2, True)
    assert settings.recipients == ("eve",)


def test_origins():
    settings = load(["--recipients", "max"], EVERYWHERE, ["host = file.example", "port = 3"])

    assert sorted(settings.origins.items()) == [
        ("host", "environment"),
        ("port", "environment"),
        ("recipients", "arguments"),
        ("secure", "defaults"),
    ]


def test_argument_beside_the_environment():
    settings = load(["--port", "1"], EVERYWHERE)

    assert (settings.port, settings.origins["port"]) == (1, "arguments")


def test_empty_variable_leaves_the_file_in_force():
    settings = load([], {"RELAY_PORT": ""}, ["port = 3 # three"])

    assert (settings.port, settings.origins["port"]) == (3, "file")


def test_environment_takes_back_what_the_file_turns_on():
    settings = load([], {"RELAY_SECURE": "no"}, ["secure = yes"])

    assert (settings.secure, settings.origins["secure"]) == (False, "environment")


def test_file_without_settings():
    settings = load([], EVERYWHERE, ["", "# nothing yet"])

    assert (settings.host, settings.port) == ("environment.example", 2)


def test_line_that_is_no_setting():
    with pytest.raises(SettingsError) as caught:
        load([], {}, ["host = here", "colour = red"])

    assert str(caught.value) == "Line 2 of the file is not a setting: colour = red"
