from puppetry.links import aim, tether
from puppetry.node import Node
from puppetry.stage import Stage


def falconer() -> Node:
    puppet = Node("falconer")
    head = puppet.attach(Node("head", (0, 8)))
    glove = puppet.attach(Node("glove", (3, 5)))
    falcon = glove.attach(Node("falcon", (0, 1)))
    aim(head, falcon)
    tether(falcon, puppet, 20)
    return puppet


def test_prefab_itself_aims_at_its_falcon() -> None:
    puppet = falconer()
    assert puppet.child("head").links[0].reach() == (3, -2)


def test_stamped_copy_stands_where_it_was_put() -> None:
    stage = Stage()
    stage.define("falconer", falconer())
    stage.stamp("falconer", (40, 0))
    assert stage.node("falconer-1/glove/falcon").position() == (43, 6)


def test_stamped_copy_has_every_node_once() -> None:
    stage = Stage()
    stage.define("falconer", falconer())
    stage.stamp("falconer", (40, 0))
    stage.stamp("falconer", (80, 0), name="rival")
    assert [child.name for child in stage.root.children] == ["falconer-1", "rival"]
    assert [child.name for child in stage.node("rival").children] == ["head", "glove"]
    assert stage.count() == 8


def test_moving_a_copy_leaves_its_prefab() -> None:
    stage = Stage()
    prefab = falconer()
    stage.define("falconer", prefab)
    stage.stamp("falconer", (40, 0)).child("glove").move(0, 2)
    assert stage.node("falconer-1/glove").offset == (3, 7)
    assert prefab.child("glove").offset == (3, 5)


def test_head_of_a_copy_aims_at_the_falcon_of_that_copy() -> None:
    stage = Stage()
    stage.define("falconer", falconer())
    stage.stamp("falconer", (40, 0))
    assert stage.node("falconer-1/head").links[0].reach() == (3, -2)
    assert stage.facing("falconer-1/head") == "right"


def test_tether_of_a_copy_is_measured_inside_that_copy() -> None:
    stage = Stage()
    stage.define("falconer", falconer())
    stage.stamp("falconer", (40, 0))
    assert stage.taut() == []


def test_link_to_a_lamp_on_the_stage_stays_on_that_lamp() -> None:
    stage = Stage()
    lamp = stage.place(Node("lamp", (10, 30)))
    moth = Node("moth")
    aim(moth, lamp)
    stage.define("moth", moth)
    stage.stamp("moth", (20, 0))
    assert stage.cue_sheet() == ["stage/moth-1 aims at lamp by -10,30"]
