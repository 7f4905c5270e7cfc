# Every target sets up what it needs first; setup is quick when nothing changed.
.PHONY: setup demo test check bench conformance clients fmt docs mutants learn-smoke vllm-env test-vllm
BIN := .venv/bin

setup: .venv/.ready

.venv/.ready: pyproject.toml packages/mcp-pdb/pyproject.toml packages/agent/pyproject.toml packages/trainer/pyproject.toml tools/setup
	tools/setup

demo: setup
	$(BIN)/mcp-pdb demo
	$(BIN)/pdb-agent demo

test: setup
	$(BIN)/python -m pytest -n 2 -m "not network and not vllm"

check: setup
	$(BIN)/ruff format --check && $(BIN)/ruff check && $(BIN)/lint-imports --no-cache
	$(BIN)/pyright && $(BIN)/pyright --pythonversion 3.10 packages/mcp-pdb/src

bench: setup
	$(BIN)/python bench/debugger.py
	$(BIN)/python bench/sandbox.py
	$(BIN)/python bench/grading.py
	$(BIN)/python bench/agent_overhead.py
	$(BIN)/python -m bench.learner

conformance: setup
	$(BIN)/python tools/conformance.py

clients: setup
	$(BIN)/python -m pytest -m network tests/end_to_end

fmt: setup
	$(BIN)/ruff format && $(BIN)/ruff check --fix

docs: setup
	$(BIN)/python tools/reference.py

mutants: setup
	$(BIN)/python tools/mutants.py

learn-smoke: setup
	$(BIN)/pdb-trainer lab learn-smoke --config packages/trainer/recipes/learn_smoke.toml --out out/learn-smoke

vllm-env:
	tools/vllm_env

test-vllm: setup vllm-env
	$(BIN)/python -m pytest -m vllm
