PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test lint bench speed storages clean

run: .venv/ready
	$(BIN)/infold run product-of-sines-linear --method mgpc --features 10 --trials 60 --seed 0

# Two processes of one thread each: at these sizes one thread is as fast as two.
test: .venv/ready
	OMP_NUM_THREADS=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false $(BIN)/python -m pytest -n 2 --dist loadfile

# Many workers on one Optuna study, on a PostgreSQL server of the test's own among others; takes minutes, and root to install it.
storages: .venv/ready
	ls /usr/lib/postgresql/*/bin/initdb || (apt-get update && apt-get install --yes --no-install-recommends postgresql)
	INFOLD_STORAGES=1 OMP_NUM_THREADS=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false $(BIN)/python -m pytest tests/integrations/test_storages.py

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python benchmarks/likelihood.py
	$(BIN)/python benchmarks/search.py

# The measurements of docs/speed.md; those that are there are kept. Other optimizers come into an environment of their own.
speed: .venv-peers/ready
	.venv-peers/bin/python benchmarks/suggest.py docs/speed

.venv-peers/ready: pyproject.toml constraints.txt
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[peers,experiments]"
	touch $@

# The stamp is written last, so an interrupted installation is begun again.
.venv/ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf .venv .venv-peers .mypy_cache .pytest_cache .ruff_cache
