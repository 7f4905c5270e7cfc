from puppetry.duplicate import duplicate
from puppetry.links import aim, tether
from puppetry.node import Node
from puppetry.stage import Stage


def duel() -> Node:
    """Two fencers who watch each other's blade; both have parts of the same names."""
    pair = Node("duel")
    for name, x in (("red", 0), ("blue", 10)):
        fencer = pair.attach(Node(name, (x, 0)))
        fencer.attach(Node("head", (0, 9)))
        arm = fencer.attach(Node("arm", (1, 6)))
        arm.attach(Node("blade", (2, 0)))
    aim(pair.find("red/head"), pair.find("blue/arm/blade"))
    aim(pair.find("blue/head"), pair.find("red/arm/blade"))
    return pair


def test_each_fencer_watches_the_other_blade() -> None:
    stage = Stage()
    stage.define("duel", duel())
    stage.stamp("duel", (100, 0))
    assert stage.node("duel-1/red/head").links[0].reach() == (13, -3)
    assert stage.node("duel-1/blue/head").links[0].reach() == (-7, -3)


def test_aim_names_the_path_of_the_copied_target() -> None:
    stage = Stage()
    stage.define("duel", duel())
    stage.stamp("duel", (0, 0), name="finale")
    paths = [link.target.path() for link in stage.links()]
    assert paths == ["stage/finale/blue/arm/blade", "stage/finale/red/arm/blade"]


def test_moving_the_target_of_a_copy_turns_the_copy() -> None:
    puppet = Node("angler")
    eye = puppet.attach(Node("eye", (0, 5)))
    rod = puppet.attach(Node("rod", (2, 0)))
    rod.attach(Node("fish", (3, 0)))
    aim(eye, puppet.find("rod/fish"))
    copy = duplicate(puppet)
    copy.find("rod/fish").move(-9, 0)
    assert copy.child("eye").links[0].reach() == (-4, -5)
    assert puppet.child("eye").links[0].reach() == (5, -5)


def test_moving_an_arm_of_a_copy_turns_what_aims_at_the_hand() -> None:
    puppet = Node("juggler")
    head = puppet.attach(Node("head", (0, 6)))
    arm = puppet.attach(Node("arm", (1, 4)))
    hand = arm.attach(Node("hand", (2, 0)))
    aim(head, hand)
    copy = duplicate(puppet)
    copy.child("arm").move(0, 3)
    assert copy.child("head").links[0].reach() == (3, 1)


def test_two_nodes_that_aim_at_each_other_do_so_in_the_copy() -> None:
    puppet = Node("mirror")
    left = puppet.attach(Node("left", (-2, 0)))
    right = puppet.attach(Node("right", (2, 0)))
    aim(left, right)
    aim(right, left)
    copy = duplicate(puppet)
    copy.offset = (50, 0)
    assert [copy.child(name).links[0].reach() for name in ("left", "right")] == [(4, 0), (-4, 0)]
    assert copy.child("left").links[0].target.links[0].target.path() == "mirror/left"


def test_copy_of_a_copy_is_linked_within_itself() -> None:
    first = duplicate(duel())
    second = duplicate(first)
    second.name = "second"
    second.find("blue/arm").move(5, 0)
    assert second.find("red/head").links[0].reach() == (18, -3)
    assert first.find("red/head").links[0].reach() == (13, -3)


def test_tether_to_a_later_part_keeps_its_length() -> None:
    stage = Stage()
    puppet = Node("dog")
    collar = puppet.attach(Node("collar", (0, 3)))
    puppet.attach(Node("bone", (4, 0)))
    tether(collar, puppet.child("bone"), 7)
    stage.define("dog", puppet)
    stage.stamp("dog", (30, 0))
    assert stage.taut() == []
    stage.node("dog-1/bone").move(6, 0)
    assert stage.taut() == ["stage/dog-1/collar"]


def test_node_tethered_to_its_own_child_and_grandchild() -> None:
    puppet = Node("kite")
    tail = puppet.attach(Node("tail", (0, -4)))
    bow = tail.attach(Node("bow", (0, -1)))
    tether(puppet, tail, 5)
    tether(puppet, bow, 5)
    copy = duplicate(puppet)
    tail_copy = copy.child("tail")
    tail_copy.move(3, 0)
    assert [link.reach() for link in copy.links] == [(3, -4), (3, -5)]
    assert [node.name for node in copy.walk()] == ["kite", "tail", "bow"]


def test_links_to_ancestors_and_outside_nodes() -> None:
    stage = Stage()
    lamp = stage.place(Node("lamp", (0, 20)))
    puppet = Node("owl")
    head = puppet.attach(Node("head", (0, 2)))
    aim(head, puppet)
    aim(head, lamp)
    stage.define("owl", puppet)
    stage.stamp("owl", (5, 0))
    assert [link.target.path() for link in stage.links()] == ["stage/owl-1", "stage/lamp"]
