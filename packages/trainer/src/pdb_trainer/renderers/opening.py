"""Choosing a model's renderer, and proving it against the model's own template."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pdb_agent.serving.vllm_server import HERMES_CHATML

from pdb_trainer.errors import RendererError
from pdb_trainer.renderers.chat_template import ChatTemplate, template_in
from pdb_trainer.renderers.chatml import ChatMLFormat
from pdb_trainer.renderers.formats import Format
from pdb_trainer.renderers.hermes import HermesFormat
from pdb_trainer.renderers.qwen3 import Qwen3Format
from pdb_trainer.renderers.qwen3_coder import Qwen3CoderFormat
from pdb_trainer.renderers.template_check import check_against
from pdb_trainer.renderers.template_renderer import TemplateRenderer
from pdb_trainer.renderers.text_tokenizer import TextTokenizer

RendererName = Literal["chatml", "hermes", "qwen3", "qwen3_thinking", "qwen3_coder"]
RENDERERS: tuple[RendererName, ...] = get_args(RendererName)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRenderer:
    """A renderer that was proven, with what its proof brought to light."""

    renderer: TemplateRenderer
    template: ChatTemplate
    """What it was compared with."""
    notes: tuple[str, ...]
    """Sentences on where the template is not append-only and the renderer is."""


def open_renderer(name: str | None, model_folder: Path) -> TemplateRenderer:
    """The renderer ``name``, or the one that suits the template, for the model in a folder.

    The folder has tokenizer.json, and chat_template.jinja or tokenizer_config.json. Raises RendererError
    when ids would differ from those of the template, which for ``chatml`` is the agent's own.
    """
    return prove_renderer(name, model_folder).renderer


def prove_renderer(name: str | None, model_folder: Path) -> OpenedRenderer:
    """As ``open_renderer``, with what there is to tell people about it."""
    tokenizer = TextTokenizer(model_folder / "tokenizer.json")
    own = template_in(model_folder)
    chosen = _chosen(own, model_folder) if name is None else _known(name)
    template = ChatTemplate(HERMES_CHATML.read_text(encoding="utf-8")) if chosen == "chatml" else own
    if template is None:
        raise RendererError(
            f"{model_folder} has no chat template that {chosen} could be checked against: add its "
            "chat_template.jinja, or use chatml, which brings its own."
        )
    renderer = TemplateRenderer(_format(chosen), tokenizer)
    thinking = chosen == "qwen3_thinking"
    switches = {"enable_thinking": thinking} if chosen in ("qwen3", "qwen3_thinking") else {}
    return OpenedRenderer(
        renderer=renderer,
        template=template,
        notes=check_against(renderer, template, thinking=thinking, **switches),
    )


def _known(name: str) -> RendererName:
    for known in RENDERERS:
        if known == name:
            return known
    raise RendererError(f"There is no renderer {name}: there are {', '.join(RENDERERS)}.")


def _chosen(template: ChatTemplate | None, model_folder: Path) -> RendererName:
    source = template.source if template else ""
    if "<function=" in source:
        return "qwen3_coder"
    if "enable_thinking" in source:
        return "qwen3"
    if source.strip() == HERMES_CHATML.read_text(encoding="utf-8").strip():
        return "chatml"
    if "<tool_call>" in source:
        return "hermes"
    if "<|im_start|>" in source:
        return "chatml"
    raise RendererError(
        f"No renderer is known for the chat template in {model_folder}: name one of {', '.join(RENDERERS)} "
        "to see where it differs, or use a model of these families."
    )


def _format(name: RendererName) -> Format:
    match name:
        case "chatml":
            return ChatMLFormat()
        case "hermes":
            return HermesFormat()
        case "qwen3":
            return Qwen3Format(thinking=False)
        case "qwen3_thinking":
            return Qwen3Format(thinking=True)
        case "qwen3_coder":
            return Qwen3CoderFormat()
