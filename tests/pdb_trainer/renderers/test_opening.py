"""A renderer is proven against the template that the model comes with, or refused."""

import json
from pathlib import Path

import pytest
from pdb_agent.messages import UserMessage
from pdb_agent.serving.vllm_server import HERMES_CHATML
from pdb_trainer.errors import RendererError
from pdb_trainer.renderers.chat_template import ChatTemplate, chat_messages
from pdb_trainer.renderers.formats import tool_object
from pdb_trainer.renderers.opening import open_renderer, prove_renderer
from pdb_trainer.renderers.template_check import conversations
from transformers import AutoTokenizer

from tests.pdb_trainer.renderers.model_folders import (
    TAGS,
    TEMPLATES,
    family_folder,
    make_tokenizer,
    model_folder,
)
from tests.pdb_trainer.renderers.speaking import SYSTEM, TOOLS

SMOLLM2 = Path(__file__).resolve().parents[3] / ".models" / "SmolLM2-135M-Instruct"
PLAIN = (
    "{% for one in messages %}"
    "{{ '<|im_start|>' + one.role + '\n' + one.content + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
)


@pytest.mark.parametrize(
    ("family", "name"), [("hermes", "hermes"), ("qwen3", "qwen3"), ("qwen3_coder", "qwen3_coder")]
)
def test_the_template_of_a_family_finds_its_renderer(family: str, name: str, tmp_path: Path):
    assert open_renderer(None, family_folder(tmp_path, family)).name == name


@pytest.mark.parametrize("template", [PLAIN, HERMES_CHATML.read_text(encoding="utf-8"), None])
def test_chatml_without_tools_is_rendered_as_the_agent_serves_it(template: str | None, tmp_path: Path):
    folder = model_folder(tmp_path, template, make_tokenizer())
    assert open_renderer("chatml" if template is None else None, folder).name == "chatml"


def test_a_template_in_the_tokenizers_settings_will_do(tmp_path: Path):
    folder = model_folder(tmp_path, None, make_tokenizer(TAGS))
    template = (TEMPLATES / "hermes.jinja").read_text(encoding="utf-8")
    settings = folder / "tokenizer_config.json"
    settings.write_text(json.dumps({"chat_template": template}), encoding="utf-8")
    assert open_renderer(None, folder).name == "hermes"
    named = [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": template}]
    settings.write_text(json.dumps({"chat_template": named}), encoding="utf-8")
    assert open_renderer(None, folder).name == "hermes"


@pytest.mark.parametrize(
    ("name", "where"), [("qwen3", "one tool result"), ("qwen3_thinking", "a word of the user")]
)
def test_what_qwen3_rewrites_is_told_and_ids_grow_nevertheless(name: str, where: str, tmp_path: Path):
    opened = prove_renderer(name, family_folder(tmp_path, "qwen3"))
    assert len(opened.notes) == 1
    assert where in opened.notes[0]
    assert "<think>" in opened.notes[0]
    first, second, third = (
        opened.renderer.prompt(SYSTEM, TOOLS, each.messages)
        for each in conversations(thinking=name == "qwen3_thinking")[:3]
    )
    assert second[: len(first)] == first
    assert third[: len(second)] == second


@pytest.mark.parametrize("family", ["hermes", "qwen3_coder"])
def test_a_template_that_only_appends_has_nothing_to_tell(family: str, tmp_path: Path):
    assert prove_renderer(None, family_folder(tmp_path, family)).notes == ()


def test_a_template_that_rewrites_is_refused_with_the_text_that_differs(tmp_path: Path):
    source = (TEMPLATES / "hermes.jinja").read_text(encoding="utf-8")
    forgetful = source.replace(
        "one.content ~ '\\n</tool_response>'",
        "(one.content if loop.last else '(shortened)') ~ '\\n</tool_response>'",
    )
    assert forgetful != source
    folder = model_folder(tmp_path, forgetful, make_tokenizer(TAGS))
    with pytest.raises(RendererError, match="two calls in one reply") as refused:
        open_renderer(None, folder)
    assert "(shortened)" in str(refused.value)
    assert "def total(items)" in str(refused.value)


def test_the_wrong_renderer_is_refused_with_the_text_that_differs(tmp_path: Path):
    with pytest.raises(RendererError, match=r"no tool result.*# Tools"):
        open_renderer("qwen3_coder", family_folder(tmp_path, "hermes"))


def test_a_template_that_is_cut_into_other_tokens_is_refused(tmp_path: Path):
    folder = family_folder(tmp_path, "hermes")
    fields = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    for token in fields["added_tokens"]:
        token["lstrip"] = token["content"] == "<tool_call>"
    (folder / "tokenizer.json").write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(RendererError, match="differ with no tool result"):
        open_renderer(None, folder)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ messages[0].content }}", "No renderer is known"),
        ("{% for one in messages %}", "cannot be read"),
        ("{# <tool_call> #}{{ raise_exception('no tools here') }}", "no tools here"),
    ],
)
def test_a_template_that_nobody_knows_is_refused(template: str, said: str, tmp_path: Path):
    with pytest.raises(RendererError, match=said):
        open_renderer(None, model_folder(tmp_path, template, make_tokenizer()))


def test_an_unknown_name_is_answered_with_those_that_there_are(tmp_path: Path):
    with pytest.raises(RendererError, match="no renderer qwen4: there are chatml, hermes"):
        open_renderer("qwen4", family_folder(tmp_path, "hermes"))


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path):
    with pytest.raises(RendererError, match=r"tokenizer\.json cannot be read"):
        open_renderer(None, tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RendererError, match="has no model"):
        open_renderer(None, tmp_path)


def test_a_tokenizer_that_cannot_write_its_tokens_as_text_is_refused(tmp_path: Path):
    folder = family_folder(tmp_path, "hermes")
    fields = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    fields["added_tokens"].append({**fields["added_tokens"][0], "content": "%"})
    fields["added_tokens"][-1]["id"] = fields["model"]["vocab"]["%"]
    (folder / "tokenizer.json").write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(RendererError, match="'%' cannot be told from the token"):
        open_renderer(None, folder)


def test_a_tokenizer_without_turns_is_refused(tmp_path: Path):
    tokenizer = make_tokenizer()
    fields = json.loads(tokenizer.to_str())
    fields["added_tokens"] = []
    folder = model_folder(tmp_path, PLAIN, tokenizer)
    (folder / "tokenizer.json").write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(RendererError, match=r"no tokens <\|im_start\|>"):
        open_renderer("chatml", folder)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["hermes", "qwen3", "qwen3_coder"])
def test_the_template_is_rendered_as_transformers_renders_it(family: str, tmp_path: Path):
    folder = family_folder(tmp_path, family)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    theirs = AutoTokenizer.from_pretrained(folder)
    renderer = open_renderer(None, folder)
    switches = {"enable_thinking": False}
    for each in conversations(thinking=False):
        ids = theirs.apply_chat_template(
            chat_messages(SYSTEM, each.messages),
            tools=[tool_object(tool) for tool in TOOLS],
            add_generation_prompt=True,
            return_dict=False,
            **switches,
        )
        assert ids == renderer.template_prompt(SYSTEM, TOOLS, each.messages)


@pytest.mark.vllm
def test_smollm2_is_served_and_trained_by_the_same_template():
    opened = prove_renderer(None, SMOLLM2)
    assert (opened.renderer.name, opened.notes) == ("chatml", ())
    assert opened.renderer.stop_ids == {0, 2}
    served = ChatTemplate(HERMES_CHATML.read_text(encoding="utf-8"))
    messages = [UserMessage(text="größer → <b>")]
    text = served.prompt(SYSTEM, TOOLS, messages)
    assert opened.renderer.prompt(SYSTEM, TOOLS, messages) == opened.renderer.tokenizer.encode_template(text)
    assert opened.renderer.decode(opened.renderer.prompt(SYSTEM, TOOLS, messages)) == text
