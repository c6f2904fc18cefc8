PYTHON ?= python3
BIN := .venv/bin
INSTALL := .venv-integrations/bin/python -m pip install --quiet --disable-pip-version-check
ONE_THREAD := OMP_NUM_THREADS=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false

.PHONY: run test integrations postgresql lint docs dist bench speed compare clean

run: .venv/ready
	$(BIN)/infold run product-of-sines-linear --trials 100 --seed 0 --report report.html

# Two processes of one thread each: at these sizes one thread is as fast as two.
test: .venv/ready
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadfile

# Many workers on one study, a PostgreSQL server, Ray Tune, Dask, recipes and examples, the report in
# a browser, the wheel in empty environments; what concerns Optuna with both lines of it. Takes half
# an hour or more. Ray comes into an environment of its own; PostgreSQL and Chromium must be there
# already.
WITH_OPTUNA := test_optuna*.py test_storages.py test_ray.py test_recipes.py
integrations: postgresql .venv-integrations/ready
	$(INSTALL) optuna==4.9.0
	$(ONE_THREAD) .venv-integrations/bin/python -m pytest -m "" $(addprefix tests/integrations/,$(WITH_OPTUNA))
	$(INSTALL) optuna==5.0.0
	$(ONE_THREAD) .venv-integrations/bin/python -m pytest -m "" tests/integrations

postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
		{ echo "make integrations needs PostgreSQL, and finds no initdb:" \
		"on Debian or Ubuntu, apt-get install postgresql"; exit 1; }

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site of docs/, in site/. Warnings, such as links that lead nowhere, are errors. (The variable
# keeps an announcement of mkdocs-material to itself.)
docs: .venv-docs/ready
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --clean

# Source distribution and wheel, in dist/.
dist: .venv/ready
	rm -rf dist
	$(BIN)/python -m build

bench: .venv/ready
	$(BIN)/python benchmarks/likelihood.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/sampler.py

# The measurements of docs/speed.md; those that are there are kept. Other optimizers come into an environment of their own.
speed: .venv-peers/ready
	.venv-peers/bin/python benchmarks/suggest.py docs/speed

# The runs of docs/comparison.md and docs/constraints.md; those that are there are kept. They take a day of a core or more.
compare: .venv-peers/ready
	.venv-peers/bin/infold compare
	.venv-peers/bin/infold compare --optimizers turbo,botorch --problems short --seeds 0-2 --evaluations 100
	.venv-peers/bin/infold compare --optimizers auto --batch 8 --evaluations 200
	.venv-peers/bin/infold compare --optimizers auto,full_space,botorch,turbo,gpsampler,tpe,cmaes,random --report docs/comparison.md
	.venv-peers/bin/infold compare --suite constrained --seeds 0-9 --evaluations 200
	.venv-peers/bin/infold compare --suite constrained --report docs/constraints.md
	.venv-peers/bin/infold compare --suite several --seeds 0-9 --evaluations 200
	.venv-peers/bin/infold compare --suite several --report docs/constraints.md

# The stamp is written last, so an interrupted installation is begun again.
.venv/ready: EXTRAS := dev
.venv-integrations/ready: EXTRAS := dev,ray,browser
.venv-peers/ready: EXTRAS := peers,experiments,objectives
.venv-docs/ready: EXTRAS := docs
.venv/ready .venv-integrations/ready .venv-peers/ready .venv-docs/ready: pyproject.toml constraints.txt
	@echo "installing into $(@D), which takes a minute or two"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

clean:
	rm -rf .venv .venv-integrations .venv-peers .venv-docs dist site .mypy_cache .pytest_cache .ruff_cache
