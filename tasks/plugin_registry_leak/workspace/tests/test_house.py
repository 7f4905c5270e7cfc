from letters.house import House
from letters.plugins import Footer, Glossary, Numbering, Shorthand


def test_values_go_through_their_filters():
    office = House().office()
    assert office.write("[greeting] {name|title}, {code|upper}!", name="ada byron", code="x1") == (
        "Dear Ada Byron, X1!"
    )


def test_a_footer_of_the_house_is_below_every_letter():
    house = House(Footer("Mill Road 1"))
    assert house.office().write("Hello") == "Hello\nMill Road 1"
    assert house.office().write("Bye") == "Bye\nMill Road 1"


def test_an_office_adds_its_footer_below_that_of_the_house():
    house = House(Footer("Mill Road 1"))
    north = house.office(Footer("North office"))
    south = house.office(Footer("South office"))
    assert north.write("Hello") == "Hello\nMill Road 1\nNorth office"
    assert south.write("Hello") == "Hello\nMill Road 1\nSouth office"


def test_offices_of_a_plain_house_have_their_own_footers():
    house = House()
    north = house.office(Footer("North office"))
    south = house.office(Footer("South office"))
    assert north.write("Hello") == "Hello\nNorth office"
    assert south.write("Hello") == "Hello\nSouth office"


def test_letters_of_an_office_are_numbered():
    office = House().office(Numbering(), Shorthand({"asap": "as soon as possible"}))
    assert office.write("Come asap") == "No. 1\nCome as soon as possible"
    assert office.write("Thanks") == "No. 2\nThanks"


def test_an_office_can_write_in_another_language():
    office = House().office(Glossary("de", {"greeting": "Liebe"}), language="de")
    assert office.write("[greeting] {name}, [closing]", name="Ada") == "Liebe Ada, closing"
