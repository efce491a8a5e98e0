# make demo     see it work
# make test     the whole test suite
# make lint     formatting, rules, types, the order of floors
# make bench    measure it beside the real implementations (Node), in some minutes
# make soak     see whether it holds out: several servers that are killed, a disk that stops, senseless input
# make types    write the files that are generated from the protocol's types
# make peers    fetch the real implementations (Node) and compare with them
# make lock     choose the newest allowed versions of all dependencies
#
# Nothing is needed beforehand but Python 3.11 with venv (and npm for `make peers` and `make bench`).

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11
# Quiet but for errors; the lock's hashes are checked.
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input

RUNTIME := $(VENV)/.runtime
DEVELOPMENT := $(VENV)/.development
PEERS := .peers/.complete
BENCH := .bench/.complete

.PHONY: demo test lint types peers bench soak lock clean

demo: $(RUNTIME)
	@$(BIN)/piserver demo

test: $(DEVELOPMENT)
	@$(BIN)/pytest

lint: $(DEVELOPMENT)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-logo

types: $(RUNTIME)
	$(BIN)/python -m piserver.protocol.generate

peers: $(DEVELOPMENT) $(PEERS)
	@$(BIN)/pytest -m peers

# Options of its own: make bench BENCH_OPTIONS="--update README.md"
bench: $(RUNTIME) $(PEERS) $(BENCH)
	@$(BIN)/python -m tests.bench $(BENCH_OPTIONS)

# Options of its own: make soak SOAK_OPTIONS="--only servers --seed 7"
soak: $(DEVELOPMENT)
	@$(BIN)/python -m tests.soak $(SOAK_OPTIONS)

# One resolution for every platform; what develops the project never changes what it runs on.
lock: $(RUNTIME)
	$(PIP_INSTALL) uv
	$(BIN)/uv pip compile $(LOCK_OPTIONS) --group build pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile $(LOCK_OPTIONS) --group dev -c requirements/runtime.txt pyproject.toml -o requirements/dev.txt

LOCK_OPTIONS := --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

clean:
	rm -rf $(VENV) .peers .bench dist .hypothesis .pytest_cache .ruff_cache .import_linter_cache

# Always from nothing, so that no package stays behind that the lock has dropped.
$(RUNTIME): requirements/runtime.txt pyproject.toml
	@for python in $(PYTHON); do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo 'piserver needs Python 3.11 or newer; tried: $(PYTHON). Name one: make PYTHON=/path/to/python3' >&2; exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$($$found --version) ..."; \
	$$found -m venv --clear $(VENV)
	@$(PIP_INSTALL) --require-hashes -r requirements/runtime.txt
	@$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(DEVELOPMENT): $(RUNTIME) requirements/dev.txt
	@$(PIP_INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

$(PEERS): tests/peers/package.json tests/peers/package-lock.json
	@command -v npm >/dev/null || { echo 'The peers are Node packages: npm is needed to fetch them' >&2; exit 1; }
	@mkdir -p .peers && cp $^ .peers/
	@npm ci --prefix .peers --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(BENCH): tests/bench/package.json tests/bench/package-lock.json
	@command -v npm >/dev/null || { echo 'What is compared with is a Node package: npm is needed to fetch it' >&2; exit 1; }
	@mkdir -p .bench && cp $^ .bench/
	@npm ci --prefix .bench --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
