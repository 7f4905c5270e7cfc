from letters.house import House
from letters.plugins import Footer, Glossary, Numbering, Shorthand


def test_an_office_without_plugins_writes_as_the_house_does():
    house = House(Footer("Mill Road 1"))
    house.office(Footer("North office"), Footer("second floor"))
    assert house.office().write("Hello") == "Hello\nMill Road 1"


def test_words_of_one_office_are_not_used_by_another():
    house = House()
    loud = house.office(Glossary("en", {"greeting": "Hey", "team": "the crew"}))
    polite = house.office()
    assert loud.write("[greeting] {name}, [team], [closing]", name="Ben") == "Hey Ben, the crew, Yours"
    assert polite.write("[greeting] {name}, [team]", name="Ben") == "Dear Ben, team"


def test_an_office_that_is_open_does_not_notice_what_the_house_adopts():
    house = House(Footer("Mill Road 1"))
    early = house.office()
    house.adopt(Footer("Founded 1901"))
    late = house.office()
    assert early.write("Hello") == "Hello\nMill Road 1"
    assert late.write("Hello") == "Hello\nMill Road 1\nFounded 1901"


def test_abbreviations_of_one_office_stay_there():
    house = House(Shorthand({"asap": "as soon as possible"}))
    north = house.office(Shorthand({"n.": "north"}))
    south = house.office()
    assert north.write("n. asap") == "north as soon as possible"
    assert south.write("n. asap") == "n. as soon as possible"


def test_numbers_of_the_house_run_through_all_offices():
    numbering = Numbering()
    house = House(numbering)
    north = house.office()
    south = house.office(Footer("South office"))
    assert north.write("Hello") == "No. 1\nHello"
    assert south.write("Hello") == "No. 2\nHello\nSouth office"
    assert north.write("Bye") == "No. 3\nBye"
    assert numbering.written == 3


def test_two_houses_have_nothing_in_common():
    mill = House(Footer("Mill Road 1"))
    mill.office(Glossary("en", {"closing": "Cheers"}), Footer("North office"))
    hill = House(Footer("Hill Road 2"))
    assert hill.office().write("Bye, [closing]") == "Bye, Yours\nHill Road 2"
