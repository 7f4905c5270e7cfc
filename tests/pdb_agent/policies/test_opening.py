import subprocess
import sys

import pytest
from pdb_agent.policies.opening import PROVIDERS, open_policy
from pdb_agent.policy import PolicyRequestError

from tests.pdb_agent.policies.dialects import ASKED, CHAT, KEY, SAMPLING, TOOLS, Surroundings
from tests.pdb_agent.policies.fake_servers import fake_server

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("name", ["", "gpt-5", "openai", "openai/", "mystery/model"])
def test_a_name_that_is_none_says_which_there_are(name: str):
    with pytest.raises(
        PolicyRequestError, match="write one of anthropic/…, openai/…, openrouter/…, vllm/…, compatible/…"
    ):
        open_policy(name, environment={})


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic/claude-opus-5-5", "ANTHROPIC_API_KEY"),
        ("openai/gpt-5.6-sol", "OPENAI_API_KEY"),
        ("openrouter/x/y", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_names_its_variable(name: str, variable: str):
    for environment in ({}, {variable: "  "}):
        with pytest.raises(PolicyRequestError, match=f"set the environment variable {variable}"):
            open_policy(name, environment=environment)


def test_a_variable_that_was_asked_for_must_be_there():
    with pytest.raises(PolicyRequestError, match="set the environment variable MY_KEY"):
        open_policy("vllm/m", key_variable="MY_KEY", environment={"VLLM_API_KEY": KEY})


def test_a_compatible_server_needs_an_address():
    with pytest.raises(PolicyRequestError, match="give its base URL"):
        open_policy("compatible/m", environment={})


@pytest.mark.parametrize("provider", list(PROVIDERS))
async def test_every_provider_opens_under_its_own_name_and_shows_no_key(provider: str):
    environment = {PROVIDERS[provider].key_variable: KEY}
    async with open_policy(
        f"{provider}/some/model", base_url="http://127.0.0.1:9/v1", environment=environment
    ) as policy:
        assert policy.name == f"{provider}/some/model"
        assert KEY not in repr(policy)
        assert KEY not in repr(vars(policy._dialect))
    await policy.aclose()  # a second time does nothing


async def test_a_local_server_needs_no_key():
    async with (
        fake_server(CHAT.text("ok")) as server,
        open_policy(
            "vllm/m", base_url=f"{server.address}/v1", environment={}, retry=Surroundings().rules()
        ) as policy,
    ):
        assert (await policy.respond("", ASKED, TOOLS, SAMPLING)).message.text == "ok"
    assert server.requests[0].headers["authorization"] == "Bearer none"


def run_python(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_nothing_imports_an_sdk_before_a_policy_is_opened():
    program = (
        "import sys, pdb_agent, pdb_agent.policies.opening, pdb_agent.policies.openai_compatible, "
        "pdb_agent.policies.openai_api, pdb_agent.policies.anthropic_api, pdb_agent.policies.prices\n"
        "print(sorted({'openai', 'anthropic', 'httpx2'} & set(sys.modules)))"
    )
    assert run_python(program) == "[]\n"


@pytest.mark.parametrize(
    ("name", "sdk"), [("anthropic/m", "anthropic"), ("openai/m", "openai"), ("vllm/m", "openai")]
)
def test_a_missing_sdk_says_what_to_install(name: str, sdk: str):
    program = (
        "import importlib.util\n"
        "real = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, *rest: None if name == {sdk!r} else real(name, *rest)\n"
        "from pdb_agent.policies.opening import open_policy\n"
        "from pdb_agent.policy import PolicyRequestError\n"
        "try:\n"
        f"    open_policy({name!r}, environment={{'ANTHROPIC_API_KEY': 'k', 'OPENAI_API_KEY': 'k'}})\n"
        "except PolicyRequestError as error:\n"
        "    print(error)\n"
    )
    assert f"pip install 'pdb-agent[{sdk}]'" in run_python(program)
