"""Episodes through the real loop, sandbox and grader, up to the row; the sampler draws what it is told."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pdb_agent.episode import Episode, EpisodeLog, assemble
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.procedural.gym import GymTask, LabFamily, generate
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.task import Split
from pdb_agent.toolsets import Toolset, ToolsetName
from pdb_trainer.inspecting import look_at_row
from pdb_trainer.live_policy import LivePolicy
from pdb_trainer.renderers.opening import open_renderer
from pdb_trainer.renderers.renderer import Renderer
from pdb_trainer.reward import itemised
from pdb_trainer.rollout import Rollout
from pdb_trainer.rollout_recording import rollout_of
from pdb_trainer.rollout_store import RolloutStore
from pdb_trainer.sampler import Sampled, SampleRequest
from pdb_trainer.sequences import Break, chains
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
END = "<|im_end|>"
ASSISTANT = "<|im_start|>assistant\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer of bytes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ("<|endoftext|>", "<|im_start|>", END)
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    folder = tmp_path_factory.mktemp("model")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


class ToldSampler:
    """Draws what it is told (meets ``Sampler``): the reply after as many as the prompt holds."""

    version = "policy-v5"
    context_tokens = 60_000

    def __init__(self, model: Path, replies: Sequence[str]) -> None:
        self._tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self._replies = replies

    async def sample(self, request: SampleRequest) -> Sampled:
        prompt = self._tokenizer.decode(list(request.prompt), skip_special_tokens=False)
        reply = self._replies[prompt.count(ASSISTANT) - 1]
        ids = tuple(self._tokenizer.encode(reply, add_special_tokens=False).ids)
        is_whole = reply.endswith(END)
        return Sampled(
            token_ids=ids,
            logprobs=tuple(-0.001 * (place % 7) for place in range(len(ids))),
            finish="stop" if is_whole else "length",
            version=self.version,
        )

    async def aclose(self) -> None:
        pass


def call(name: str, /, **arguments: object) -> str:
    said = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{said}\n</tool_call>{END}"


def repair(task: GymTask) -> str:
    return call("bash", command=f"cat > {task.source_path} <<'EOF'\n{task.solved_source.decode()}\nEOF")


async def play(
    model: Path, task: GymTask, replies: Sequence[str], toolset: Toolset
) -> tuple[Episode, Rollout]:
    renderer: Renderer = open_renderer("chatml", model)
    policy = LivePolicy(renderer, ToldSampler(model, replies), name="told/replies")
    log = EpisodeLog(None)
    whole = as_task(task, Split.TRAIN)
    await run_episode(whole, policy, EpisodeSettings(toolset=toolset), log)
    episode = assemble(log.events, "memory")
    rewards = itemised(episode, whole)
    return episode, rollout_of(episode, run="r", group="g", seed=1, rewards=rewards, hashes={})


async def test_a_whole_episode_is_one_row_whose_learned_tokens_are_what_was_said(model: Path, tmp_path: Path):
    task = generate(LabFamily.INIT, 5)
    replies = [
        call("read_file", path=task.source_path),
        f"I see. <tool_call>no call{END}",
        "It starts with the wrong val",  # cut at its length
        repair(task),
        call("run_tests"),
        call("done", summary="repaired"),
    ]
    _, rollout = await play(model, task, replies, Toolset(name=ToolsetName.NO_DEBUGGER))
    assert rollout.solved
    assert rollout.rewards["malformed_calls"] == pytest.approx(-0.02)
    found = chains([rollout])
    assert len(found.rows) == 1
    assert found.merge_compression_ratio > 3

    RolloutStore(tmp_path).append(rollout)
    (tmp_path / "tokenizer.json").write_bytes((model / "tokenizer.json").read_bytes())
    view = look_at_row(tmp_path, row=0)
    said = ["".join(one.text for one in view.tokens if one.response == number) for number in range(6)]
    assert said == replies
    context = "".join(one.text for one in view.tokens if not one.trained)
    assert f"{ASSISTANT}\n" in context  # where the stop token was drawn, its line end is the template's
    assert (
        context.count(END) == 2 + 5 + 1
    )  # system and task, five answers, and the closer of the reply cut off
    assert {one.version for one in view.tokens if one.trained} == {5}


async def test_tools_that_appear_later_break_the_row_once(model: Path):
    task = generate(LabFamily.INIT, 5)
    replies = [
        call("read_file", path=task.source_path),
        repair(task),
        call("run_tests"),
        call("done", summary="repaired"),
    ]
    toolset = Toolset(name=ToolsetName.UNLOCK_AFTER_EDITS, unlock_after_edits=1)
    _, rollout = await play(model, task, replies, toolset)
    found = chains([rollout])
    assert rollout.solved
    assert found.breaks == {one: int(one is Break.CONTEXT_REWRITTEN) for one in Break}
    assert [response.row for response in found.responses] == [0, 0, 1, 1]
    for response, turn in zip(found.responses, rollout.turns, strict=True):
        row = found.rows[response.row]
        mine = row.response_id == found.responses.index(response)
        assert row.token_ids[mine].tolist() == turn.sampled_ids.tolist()
