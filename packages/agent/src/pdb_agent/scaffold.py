"""Writes the files of a new task: complete and valid, to be changed into what it shall be."""

import re
from pathlib import Path

from pdb_agent.errors import TaskError
from pdb_agent.task_schema import TASK_ID
from pdb_agent.validation.measures import write_measures

_SETTINGS = """\
id = "{id}"
version = 1                   # goes up when a published task changes
group = "{id}"  # template family: its tasks stay in one split
family = "aliasing"           # a name of task_schema.FAMILIES
preference = "recommended"    # or optional, or avoid (then without witness.toml)
preference_reason = "Two orders hold one list object, which shows at run time only."
difficulty = 2                # 1 to 5, see below
split = "train"               # or validation, or test
python_min = "3.10"
python_max = "3.13"
target = "tests/test_orders.py::test_orders_of_two_customers_stay_apart"
fail_to_pass = ["tests/test_orders.py::test_orders_of_two_customers_stay_apart"]
pass_to_pass = ["tests/test_orders.py::test_an_order_lists_its_items"]  # every other visible test
editable = ["shelf/*.py"]     # sources, never tests
licence = "MIT"
# `pdb-agent tasks measure {id}` writes these three:
source_lines = 0
source_files = 0
content_hash = ""

[difficulty_points]           # their sum is the difficulty: 0-2 gives 1, 3 gives 2, 4-5 gives 3, 6-7 gives 4
files = 2                     # files on the way from cause to symptom: 1, 2, or 3 for more
distance = 1                  # 0 same frame, 1 caller, 2 stored state, 3 another thread or task
decoys = 0                    # plausible culprits that are none: 0, 1 or 2
fix_size = 0                  # 0 one line, 1 several lines, 2 several places
obvious_wrong_fix = 0         # 1 if what comes to mind first does not do

[limits]                      # seconds
test_seconds = 5
suite_seconds = 20
episode_seconds = 600
"""

_WITNESS = """\
# Where a debugger shows the cause: reached from the target in 2 s, at hit 20 at most.
target = "tests/test_orders.py::test_orders_of_two_customers_stay_apart"

[[stop]]
file = "shelf/orders.py"
function = "Order.add"        # or `line`: text that occurs once in the file, before and after
hit = 2                       # the second time; 1 if left out

[[stop.value]]                # what the debugger prints; at least one value differs
expression = "self.items"
buggy = "['cup', 'spoon']"
fixed = "['cup']"

[[stop]]
file = "shelf/orders.py"
line = "self.items.append(item)"
condition = "item == 'cloth'"

[[stop.value]]
expression = "len(self.items)"
buggy = "2"
fixed = "1"
"""

_FILES = {
    "workspace/README.md": """\
# shelf

Takes orders for a small shop. Run its tests with `python -m pytest`.
""",
    "workspace/pytest.ini": """\
[pytest]
pythonpath = .
testpaths = tests
""",
    "workspace/shelf/__init__.py": "",
    "workspace/shelf/orders.py": '''\
"""Orders of a small shop."""

from shelf.templates import Template


class Order:
    """What one customer wants."""

    def __init__(self, customer: str, items: list[str]) -> None:
        self.customer = customer
        self.items = items

    def add(self, item: str) -> None:
        """Put one more item on the order."""
        self.items.append(item)


def order_from(template: Template, customer: str) -> Order:
    """A new order that begins with the items of a template."""
    return Order(customer, template.starting_items())
''',
    "workspace/shelf/templates.py": '''\
"""Items that orders begin with."""


class Template:
    """A named list of items."""

    def __init__(self, name: str, items: list[str]) -> None:
        self.name = name
        self._items = items

    def starting_items(self) -> list[str]:
        """The items of a new order."""
        return self._items
''',
    "workspace/tests/test_orders.py": """\
from shelf.orders import order_from
from shelf.templates import Template


def test_an_order_lists_its_items():
    order = order_from(Template("tea", ["cup", "pot"]), "Ada")
    assert order.items == ["cup", "pot"]


def test_orders_of_two_customers_stay_apart():
    template = Template("tea", ["cup"])
    first = order_from(template, "Ada")
    second = order_from(template, "Ben")
    first.add("spoon")
    second.add("cloth")
    assert second.items == ["cup", "cloth"]
""",
    "hidden/test_templates.py": """\
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
""",
    "solution/fix.patch": '''\
--- a/shelf/templates.py
+++ b/shelf/templates.py
@@ -11,3 +11,3 @@
     def starting_items(self) -> list[str]:
         """The items of a new order."""
-        return self._items
+        return list(self._items)
''',
    "decoys/copy_in_order.patch": """\
--- a/shelf/orders.py
+++ b/shelf/orders.py
@@ -9,3 +9,3 @@
     def __init__(self, customer: str, items: list[str]) -> None:
         self.customer = customer
-        self.items = items
+        self.items = list(items)
""",
    "decoys/copy_in_order.md": """\
The order is where the item appears, so somebody copies there.
The template still hands out its own list to every other caller.
""",
}
"""What else a task needs, relative to its folder."""


def write_skeleton(root: Path, task_id: str) -> Path:
    """Write the task's folder below ``root``; the folder. Raises TaskError when it is there already."""
    folder = root / task_id
    if re.search(TASK_ID, task_id) is None:
        raise TaskError(f"{task_id!r} is no id of a task: use small letters, digits and underscores.")
    if folder.exists():
        raise TaskError(f"{folder} is there already: take another id.")
    files = {**_FILES, "task.toml": _SETTINGS.format(id=task_id), "witness.toml": _WITNESS}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    write_measures(folder)
    return folder
