"""Versions on a server that only pretends: what it is told, in which order, and when something is freed."""

import base64
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_trainer.adapter_files import write_adapter
from pdb_trainer.adapter_transfer import AdapterPublisher, LocalPublisher, open_adapter_publisher
from pdb_trainer.errors import CheckpointError, SamplerError, SamplerUnavailableError, ServerModelError
from pdb_trainer.lora import LoraSettings
from pdb_trainer.policy_versions import PolicyVersions
from pdb_trainer.vllm_http import HttpRules, VllmHttp
from safetensors.torch import load
from torch import Tensor

from tests.pdb_trainer.loopback_vllm import Exchange, Json, Loopback, loopback

pytestmark = pytest.mark.anyio
LOAD, UNLOAD, RPC = "/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/collective_rpc"
LORA = LoraSettings(rank=2, alpha=8.0)
A, B = "base_model.model.layers.0.q_proj.lora_A.weight", "base_model.model.layers.0.q_proj.lora_B.weight"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as server:
        yield server


@pytest.fixture
def versions() -> PolicyVersions:
    return PolicyVersions()


@pytest.fixture
async def publisher(server: Loopback, versions: PolicyVersions) -> AsyncIterator[AdapterPublisher]:
    rules = HttpRules(tries=2, answer_seconds=5, chance=lambda: 0.0)
    async with open_adapter_publisher(server.url, versions, LORA, lag=1, rules=rules) as publisher:
        server.asked.clear()
        yield publisher


def tensors(value: float = 1.0) -> dict[str, Tensor]:
    return {A: torch.full((2, 3), value), B: torch.full((4, 2), value)}


def methods(server: Loopback) -> list[str]:
    """What was asked for, in order, without looks at what is served."""
    said: list[str] = []
    for exchange in server.asked:
        if exchange.path == RPC:
            said.append(f"{exchange.body['method']} {exchange.body['kwargs']['name'].partition('@')[0]}")
        elif exchange.path != "/v1/models":
            said.append(f"{exchange.path.split('/')[2].partition('_')[0]} {exchange.body['lora_name']}")
    return said


async def test_a_version_is_staged_then_loaded_and_only_then_current(
    publisher: AdapterPublisher, server: Loopback, versions: PolicyVersions
):
    before: list[str] = []
    server.at(LOAD, lambda exchange: (before.append(versions.current), server.load(exchange)))
    assert await publisher.publish(7, tensors()) == "policy-v7"
    assert before == ["base"]
    assert versions.current == "policy-v7"
    assert methods(server) == ["policy_stage_file policy-v7", "load policy-v7"]
    (loaded,) = server.bodies(LOAD)
    (staged,) = server.staged.values()
    assert loaded == {"lora_name": "policy-v7", "lora_path": f"mem:{staged['name']}"}


async def test_every_push_of_a_number_has_a_path_of_its_own(server: Loopback, versions: PolicyVersions):
    for _ in range(2):
        async with open_adapter_publisher(server.url, versions, LORA) as publisher:
            await publisher.publish(1, tensors())
    first, second = [body["lora_path"] for body in server.bodies(LOAD)]
    assert first != second  # the prefix cache of a server goes by name and path
    assert server.models == ["base", "policy-v1"]
    assert list(server.staged) == [second.removeprefix("mem:")]  # what the first one left is freed


async def test_the_scale_is_folded_into_b_and_alpha_is_the_rank(
    publisher: AdapterPublisher, server: Loopback
):
    read: list[dict[str, Tensor]] = []

    def stage(exchange: Exchange) -> None:
        read.append(load(Path(exchange.body["kwargs"]["path"]).read_bytes()))
        server.rpc(exchange)

    server.at(RPC, stage)
    await publisher.publish(1, tensors(0.5))
    (received,) = read
    assert torch.equal(received[A], torch.full((2, 3), 0.5))
    assert torch.equal(received[B], torch.full((4, 2), 2.0))  # 0.5 * 8 / 2
    (staged,) = server.staged.values()
    assert '"r": 2' in staged["config"]
    assert '"lora_alpha": 2.0' in staged["config"]


async def test_a_server_that_cannot_see_our_memory_gets_the_tensors_as_text(
    publisher: AdapterPublisher, server: Loopback, versions: PolicyVersions
):
    server.at(RPC, lambda exchange: exchange.fail(500, "No such file or directory"), server.rpc)
    await publisher.publish(1, tensors(3.0))
    (staged,) = server.staged.values()
    assert staged["method"] == "policy_stage"
    assert torch.equal(load(base64.b64decode(staged["tensors"]))[A], torch.full((2, 3), 3.0))
    assert versions.current == "policy-v1"


async def test_a_folder_is_published_with_its_own_scale(
    publisher: AdapterPublisher, server: Loopback, tmp_path: Path
):
    write_adapter(tmp_path, tensors(), LoraSettings(rank=2, alpha=1.0))
    server.at(RPC, lambda exchange: exchange.fail(500, "No such file or directory"), server.rpc)
    await publisher.publish(1, tmp_path)
    (staged,) = server.staged.values()
    assert torch.equal(load(base64.b64decode(staged["tensors"]))[B], torch.full((4, 2), 0.5))


async def test_lag_and_two_versions_are_served_and_the_oldest_goes_first(
    publisher: AdapterPublisher, server: Loopback
):
    for number in range(5):
        await publisher.publish(number, tensors())
    assert publisher.live == ("policy-v2", "policy-v3", "policy-v4")
    assert server.models == ["base", *publisher.live]
    # What was unloaded with the last update is freed with the next one.
    assert [label.partition("@")[0] for label in server.staged] == ["policy-v1", *publisher.live]
    assert methods(server)[-4:] == [
        "policy_stage_file policy-v4",
        "load policy-v4",
        "policy_forget policy-v0",
        "unload policy-v1",
    ]


async def test_a_version_of_which_a_reply_is_being_drawn_stays(
    publisher: AdapterPublisher, server: Loopback, versions: PolicyVersions
):
    await publisher.publish(0, tensors())
    with versions.use() as name:
        for number in range(1, 5):
            await publisher.publish(number, tensors())
        assert name == "policy-v0"
        assert publisher.live == ("policy-v0", "policy-v2", "policy-v3", "policy-v4")
        assert "policy-v0" in server.models
    await publisher.publish(5, tensors())
    assert publisher.live == ("policy-v3", "policy-v4", "policy-v5")
    assert "policy-v0" not in server.models


async def test_what_the_server_still_uses_is_freed_later(publisher: AdapterPublisher, server: Loopback):
    await publisher.publish(0, tensors())
    (label,) = server.staged
    server.busy.add(label)
    for number in range(1, 5):
        await publisher.publish(number, tensors())
    assert label in server.staged
    server.busy.clear()
    await publisher.publish(5, tensors())
    assert label not in server.staged


async def test_an_adapter_that_the_server_refuses_leaves_the_weights_as_they_were(
    publisher: AdapterPublisher, server: Loopback, versions: PolicyVersions
):
    await publisher.publish(1, tensors())
    said = "LoRA rank 2 is greater than max_lora_rank 1."
    server.at(LOAD, lambda exchange: exchange.fail(500, said))
    with pytest.raises(ServerModelError, match=r"cannot serve policy-v2 .*max_lora_rank 1.*--max-lora-rank"):
        await publisher.publish(2, tensors())
    assert (versions.current, publisher.live) == ("policy-v1", ("policy-v1",))
    assert len(server.staged) == 1


async def test_an_engine_that_died_is_infrastructure(publisher: AdapterPublisher, server: Loopback):
    server.at(LOAD, lambda exchange: exchange.fail(500, "EngineCore encountered an issue."))
    with pytest.raises(SamplerUnavailableError, match="EngineCore"):
        await publisher.publish(1, tensors())


async def test_a_load_whose_answer_was_lost_counts(
    publisher: AdapterPublisher, server: Loopback, versions: PolicyVersions
):
    def load_and_break_off(exchange: Exchange) -> None:
        server.models.append(exchange.body["lora_name"])
        exchange.break_off()

    server.at(LOAD, load_and_break_off, server.load)  # the second try hears that it is loaded already
    await publisher.publish(1, tensors())
    assert versions.current == "policy-v1"
    assert publisher.live == ("policy-v1",)


async def test_a_number_is_published_once(publisher: AdapterPublisher):
    await publisher.publish(1, tensors())
    with pytest.raises(SamplerError, match="policy-v1 is being served"):
        await publisher.publish(1, tensors())


async def test_after_a_restart_of_the_server_the_same_version_is_published_again(
    publisher: AdapterPublisher, server: Loopback
):
    for number in (1, 2):
        await publisher.publish(number, tensors())
    server.models[:] = ["base"]
    server.staged.clear()
    await publisher.publish(2, tensors())
    assert publisher.live == ("policy-v2",)
    assert server.models == ["base", "policy-v2"]


async def test_matrices_of_another_rank_than_told_are_refused_here(
    publisher: AdapterPublisher, server: Loopback
):
    with pytest.raises(ServerModelError, match=r"have rank \[3\], and it says 2"):
        await publisher.publish(1, {A: torch.zeros(3, 3), B: torch.zeros(4, 3)})
    assert methods(server) == []


async def test_a_folder_without_an_adapter_is_named(publisher: AdapterPublisher, tmp_path: Path):
    with pytest.raises(CheckpointError, match="holds no whole adapter"):
        await publisher.publish(1, tmp_path)


async def test_folders_are_kept_while_their_version_is_and_deleted_after(
    server: Loopback, versions: PolicyVersions, tmp_path: Path
):
    before = tmp_path / "policy-v9@of-a-killed-run"
    before.mkdir()
    async with open_adapter_publisher(server.url, versions, LORA, lag=0, spool=tmp_path) as publisher:
        for number in range(4):
            await publisher.publish(number, tensors())
    assert not before.exists()
    paths = [Path(body["lora_path"]) for body in server.bodies(LOAD)]
    assert [path.is_dir() for path in paths] == [False, True, True, True]
    assert {file.name for file in paths[-1].iterdir()} == {"adapter_model.safetensors", "adapter_config.json"}
    assert publisher.live == ("policy-v2", "policy-v3")


class Renewed:
    """Stands where the in-process sampler does."""

    def __init__(self) -> None:
        self.versions: list[str] = []

    async def renew(self, version: str, change: Callable[[], object] | None = None) -> None:
        if change is not None:
            change()
        self.versions.append(version)


async def test_a_local_sampler_gets_the_tensors_as_they_are_then_the_name(tmp_path: Path):
    sampler, loaded = Renewed(), list[Mapping[str, Tensor]]()
    publisher = LocalPublisher(sampler, loaded.append)
    assert await publisher.publish(1, tensors(2.0)) == "policy-v1"
    write_adapter(tmp_path, tensors(3.0), LORA)
    assert await publisher.publish(2, tmp_path) == "policy-v2"
    assert [float(each[B][0, 0]) for each in loaded] == [2.0, 3.0]  # its model has the scale itself
    assert sampler.versions == ["policy-v1", "policy-v2"]


async def test_a_local_sampler_of_the_learners_own_model_gets_the_name_only():
    sampler = Renewed()
    assert await LocalPublisher(sampler).publish(4, {}) == "policy-v4"
    assert sampler.versions == ["policy-v4"]


async def test_no_server_is_infrastructure(versions: PolicyVersions):
    rules = HttpRules(tries=1)
    with pytest.raises(SamplerUnavailableError, match="No vLLM server answers"):
        async with open_adapter_publisher("http://127.0.0.1:9", versions, LORA, rules=rules):
            pass


@dataclass(frozen=True, kw_only=True)
class Overheard(Exchange):
    """An exchange without a connection."""

    said: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])

    def say(self, status: int, body: Json | bytes) -> None:
        self.said.append((status, body if isinstance(body, bytes) else json.dumps(body).encode()))


class Direct(VllmHttp):
    """Asks the pretended server without a network."""

    def __init__(self, server: Loopback) -> None:
        super().__init__("http://elsewhere:1")
        self._server = server

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> bytes:
        exchange = Overheard(path=path, body=dict(body or {}), handler=cast(BaseHTTPRequestHandler, None))
        self._server.answer(exchange)
        ((status, content),) = exchange.said
        assert status == 200, content
        return content


@pytest.mark.slow
@given(
    lag=st.integers(0, 2),
    steps=st.lists(st.sampled_from(["publish", "publish", "begin", "end", "busy", "idle"]), max_size=25),
)
@settings(max_examples=25, deadline=None)
def test_whatever_comes_and_goes_the_weights_in_use_are_served_and_can_be_looked_up(
    lag: int, steps: list[str]
):
    anyio.run(_come_and_go, lag, steps)


async def _come_and_go(lag: int, steps: list[str]) -> None:
    server, versions, replies, number = Loopback(), PolicyVersions(), list[ExitStack](), 0
    http = Direct(server)
    publisher = AdapterPublisher(http, versions, LORA, lag=lag)
    in_use: list[str] = []
    for step in steps:
        match step:
            case "publish":
                await publisher.publish(number, tensors())
                number += 1
            case "begin":
                reply = ExitStack()
                in_use.append(reply.enter_context(versions.use()))
                replies.append(reply)
            case "end" if replies:
                replies.pop(0).close()
                in_use.pop(0)
            case "busy":
                server.busy.update(server.staged)
            case _:
                server.busy.clear()
        staged = {label.partition("@")[0] for label in server.staged}
        assert set(in_use) <= {"base", *server.models}
        assert set(server.models) <= {"base", *staged}
        assert server.models == ["base", *publisher.live]
        assert len(publisher.live) <= lag + 2 + len(set(in_use))
        assert versions.current == (f"policy-v{number - 1}" if number else "base")
    await http.aclose()
