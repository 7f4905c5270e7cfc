import anyio
import pytest
from pdb_agent.messages import AssistantMessage, Call, Message, Reply, Stop, ToolMessage, Usage, UserMessage
from pdb_agent.policies.replay import ReplayPolicy
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.policy import Policy, PolicyRequestError, Sampling

from tests.pdb_agent.policies.dialects import ASKED, results

pytestmark = pytest.mark.anyio
SAMPLING = Sampling()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def played(policy: Policy, turns: int) -> list[Reply]:
    messages: list[Message] = list(ASKED)
    replies: list[Reply] = []
    for _ in range(turns):
        replies.append(await policy.respond("", messages, (), SAMPLING))
        messages.append(replies[-1].message)
        await anyio.lowlevel.checkpoint()
    return replies


async def test_a_script_is_said_turn_by_turn_and_then_it_has_ended():
    malformed = Call(id="mine", name="edit", arguments=None, raw="{", error="no")
    whole = Reply(message=AssistantMessage(text="whole"), stop=Stop.REFUSAL, usage=Usage(), model="m")
    policy = ScriptedPolicy(
        [["Reading.", scripted_call("read", path="a"), malformed], "Text.", whole], usage=Usage(input=5)
    )
    first, second, third, last = await played(policy, 4)
    assert first.message.text == "Reading."
    assert first.message.calls == (
        Call(id="call_0_0", name="read", arguments={"path": "a"}, raw='{"path": "a"}'),
        malformed,
    )
    assert (first.stop, first.usage) == (Stop.CALLS, Usage(input=5))
    assert (second.message.text, second.stop) == ("Text.", Stop.END)
    assert third is whole
    assert (last.message.text, last.stop) == ("The script has ended.", Stop.END)


async def test_a_turn_may_be_made_from_what_was_said():
    def again(messages):
        assert isinstance(messages[-1], ToolMessage)
        return [scripted_call("echo", text=messages[-1].results[0].text)]

    policy = ScriptedPolicy([[scripted_call("read")], again])
    first = await policy.respond("", ASKED, (), SAMPLING)
    second = await policy.respond("", (*ASKED, first.message, results("call_0_0")), (), SAMPLING)
    assert second.message.calls[0].arguments == {"text": "result of call_0_0"}


async def test_one_script_serves_many_episodes_at_once():
    policy = ScriptedPolicy([f"turn {index}" for index in range(5)])
    texts: list[list[str]] = []

    async def episode():
        texts.append([reply.message.text for reply in await played(policy, 5)])

    async with policy, anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(episode)
    assert texts == [[f"turn {index}" for index in range(5)]] * 20


async def test_a_replay_gives_the_same_replies_and_nothing_beyond_them():
    saved = await played(ScriptedPolicy([[scripted_call("read")], "Done."]), 2)
    async with ReplayPolicy(saved) as policy:
        assert await played(policy, 2) == saved
        said = [UserMessage(text="?"), saved[0].message, saved[1].message]
        with pytest.raises(PolicyRequestError, match="2 replies and the loop asks for one more"):
            await policy.respond("", said, (), SAMPLING)
