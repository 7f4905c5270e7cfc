"""The templates by name: each makes as many tasks as there are numbers."""

from enum import StrEnum

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.templates import (
    dropped_copy,
    early_return,
    generator_for_list,
    late_binding,
    lost_key_part,
    memo_order,
    missing_sentinel,
    object_for_number,
    state_on_class,
)
from pdb_agent.procedural.templates.blueprint import Blueprint, Setting, assemble, draw_setting
from pdb_agent.procedural.templates.layers import MOST_LAYERS
from pdb_agent.task import Split, Task


class TemplateName(StrEnum):
    """What is amiss in the programs of a template; also the group of its tasks."""

    DROPPED_COPY = "dropped_copy"
    EARLY_RETURN = "early_return"
    GENERATOR_FOR_LIST = "generator_for_list"
    LATE_BINDING = "late_binding"
    LOST_KEY_PART = "lost_key_part"
    MEMO_ORDER = "memo_order"
    MISSING_SENTINEL = "missing_sentinel"
    OBJECT_FOR_NUMBER = "object_for_number"
    STATE_ON_CLASS = "state_on_class"


def build(template: TemplateName, number: int, split: Split) -> Task:
    """The task of a template and a number from 0 on; ``validity.check`` runs it.

    All tasks of a template belong in one split, since they have one group. Raises ValueError for a
    negative number.
    """
    if number < 0:
        raise ValueError(f"number is {number}: give one from 0 on.")
    draw = Draw(f"{template}/{number}")
    setting = draw_setting(draw, most_layers=_most_layers(template))
    return assemble(_plan(template, draw, setting), setting, draw, template, number, split)


def _most_layers(template: TemplateName) -> int:
    return object_for_number.MOST_LAYERS if template is TemplateName.OBJECT_FOR_NUMBER else MOST_LAYERS


def _plan(template: TemplateName, draw: Draw, setting: Setting) -> Blueprint:
    match template:
        case TemplateName.DROPPED_COPY:
            return dropped_copy.plan(draw, setting)
        case TemplateName.EARLY_RETURN:
            return early_return.plan(draw, setting)
        case TemplateName.GENERATOR_FOR_LIST:
            return generator_for_list.plan(draw, setting)
        case TemplateName.LATE_BINDING:
            return late_binding.plan(draw, setting)
        case TemplateName.LOST_KEY_PART:
            return lost_key_part.plan(draw, setting)
        case TemplateName.MEMO_ORDER:
            return memo_order.plan(draw, setting)
        case TemplateName.MISSING_SENTINEL:
            return missing_sentinel.plan(draw, setting)
        case TemplateName.OBJECT_FOR_NUMBER:
            return object_for_number.plan(draw, setting)
        case TemplateName.STATE_ON_CLASS:
            return state_on_class.plan(draw, setting)
