from shelf.orders import order_from
from shelf.templates import Template


def test_a_template_keeps_its_items():
    template = Template("desk", ["lamp"])
    order_from(template, "Cleo").add("chair")
    assert template.starting_items() == ["lamp"]


def test_a_template_has_its_name():
    assert Template("desk", []).name == "desk"


def test_the_starting_items_of_a_template_can_be_changed_freely():
    template = Template("desk", ["lamp", "chair"])
    template.starting_items().clear()
    assert template.starting_items() == ["lamp", "chair"]
