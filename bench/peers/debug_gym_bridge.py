"""Runs inside debug-gym's own environment and answers JSON-RPC lines for its pdb tool.

debug-gym has no server: its tool is a Python object. The benchmark-only
packages it imports at module level (datasets, transformers, swebench ...) are
stood in for by empty modules, since none takes part in debugging.
"""

import json
import os
import sys
import types

ABSENT = ("datasets", "swebench", "swesmith", "transformers", "tiktoken", "openai", "anthropic", "azure")


class _Absent(types.ModuleType):
    """A module that has every name, and every submodule."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self.__name__}.{name}")

    def __call__(self, *_arguments, **_named):
        return self


class _AbsentFinder:
    """Serves the stand-ins to ``import``."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):
        import importlib.machinery

        if name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, _AbsentFinder, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        return _Absent(spec.name)

    @staticmethod
    def exec_module(_module):
        return None


def open_environment(project, entrypoint):
    """A debug-gym local environment on ``project`` with the pdb tool in it."""
    from debug_gym.gym.envs.local import LocalEnv
    from debug_gym.gym.tools.pdb import PDBTool

    environment = LocalEnv(path=project, debug_entrypoint=entrypoint)
    tool = PDBTool()
    environment.add_tool(tool)
    environment.setup_task()
    environment.setup_workspace()
    environment.current_breakpoints_state = {}
    return environment, tool


def main():
    """Answer requests until the input ends."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.meta_path.append(_AbsentFinder)
    environment, tool = open_environment(sys.argv[1], sys.argv[2])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if request["method"] == "initialize":
            result = {"serverInfo": {"name": "debug-gym", "workingDirectory": str(environment.working_dir)}}
        else:
            observation = tool.use(environment, request["params"]["arguments"]["command"])
            result = {"content": [{"type": "text", "text": observation.observation}]}
        channel.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
        channel.flush()
    tool.stop_pdb()


if __name__ == "__main__":
    main()
