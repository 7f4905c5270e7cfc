"""Folders of models that are a tokenizer and a chat template: what a renderer is opened with."""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

TEMPLATES = Path(__file__).with_name("templates")
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TAGS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
_QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_TEXT = (
    "You repair programs. The total of the cart is wrong: def total(items): return sum(items)",
    'assistant user system\n{"name": "read_file", "arguments": {"path": "shop/cart.py"}}\n<tool_call>',
    "<tool_response>\nFAILED tests/test_cart.py::test_total - assert 3 == 2\n</tool_response>\n\n\n",
)


def make_tokenizer(tags: Sequence[str] = (), *, vocabulary: int = 400) -> Tokenizer:
    """A byte-level BPE; with tags, which are tokens that are not special, it cuts words as Qwen does."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_QWEN_WORDS), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        if tags
        else pre_tokenizers.ByteLevel(add_prefix_space=False)
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(_TEXT, trainer)
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
    tokenizer.add_tokens([AddedToken(name, special=False, normalized=False) for name in tags])
    return tokenizer


def model_folder(folder: Path, template: str | None, tokenizer: Tokenizer) -> Path:
    """A folder with both; ``template`` is a text."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder


def family_folder(folder: Path, family: str) -> Path:
    """A folder as models of a family have it: hermes, qwen3, qwen3_coder."""
    template = (TEMPLATES / f"{family}.jinja").read_text(encoding="utf-8")
    return model_folder(folder, template, make_tokenizer(TAGS))
