# `make` without a target lists the targets.  A target first creates .venv next to this file from the locks in
# requirements/, if that is out of date.

PYTHON ?= python3
BIN := .venv/bin
BENCH_BIN := .venv-bench/bin
AGENTS_BIN := .venv-agents/bin
SB3_BIN := .venv-sb3/bin
DOCS_BIN := .venv-docs/bin
PIP_INSTALL := -m pip install --quiet --quiet --no-input --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-quick coverage setup lint format types docs docs-tables imports wheel bench table claims agents test-agents radio-data example-radio example-dqn lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ------------------------------------------------------------------------------------- the main job

OUT := out/run

run: .venv/run.stamp ## compare the teachers on the paper's instance and on a real radio network
	@mkdir -p $(OUT)
	@echo 'Instance of the paper: five clients; three of them would prefer another arm than the one that is best for all.'
	@echo
	@$(BIN)/tutelage simulate paper \
	    --clients '2*ucb1,2*eps-greedy,1*ts' --horizon 50000 --runs 20 --seed 1 --out $(OUT)/paper.nc --force
	@$(BIN)/tutelage plot $(OUT)/paper.nc --out $(OUT)/paper.png
	@echo
	@echo 'Fifteen clients in a radio network that was measured in Grenoble:'
	@echo
	@$(BIN)/tutelage simulate grenoble:clients=15,seed=0 \
	    --clients '5*ucb1,5*eps-greedy,5*ts' --horizon 50000 --runs 20 --seed 1 --out $(OUT)/grenoble.nc --force
	@$(BIN)/tutelage plot $(OUT)/grenoble.nc --out $(OUT)/grenoble.png
	@echo
	@echo 'Next, try: $(BIN)/tutelage simulate uniform:clients=5,arms=5,seed=0 --teacher twl --teacher blt --clients ucb1 --horizon 50000 --runs 20 --seed 1'

# -------------------------------------------------------------------------------------- development

# Tests that take long: processes that are interrupted, killed or replaced, packages that are installed,
# many simulations, long pages.
SLOW := $(addprefix --ignore=tests/, agents/test_agents.py benchmarks cli/test_demo.py cli/test_installed.py cli/test_interrupt.py \
    cli/test_real_data.py engine/test_dask_shards.py engine/test_executors.py engine/test_leaping.py \
    experiments/test_execution.py experiments/test_interruption.py measurement/test_exploration.py measurement/test_warm_start.py \
    plots/test_layout.py plots/test_matplotlib_import.py plots/test_styles.py policies/test_bayes_ucb.py \
    policies/test_boltzmann.py policies/test_boltzmann_gumbel.py policies/test_eps_constant.py \
    policies/test_eps_first.py policies/test_exp3.py policies/test_exp3_ix.py policies/test_first_tie.py \
    policies/test_gaussian_thompson.py policies/test_kl_ucb.py policies/test_moss.py \
    policies/test_sliding_window.py policies/test_thompson_leaping.py policies/test_thompson_leaps.py \
    policies/test_tsallis_inf.py policies/test_ucb.py policies/test_ucb_tuned.py policies/test_ucb_v.py \
    service/api/test_generated_client.py service/campaigns/test_edge_crash.py \
    service/campaigns/test_restarts.py \
    service/campaigns/test_rolling_upgrade.py teachers/test_ace.py teachers/test_change_detector.py \
    teachers/test_jun.py teachers/test_unknown_horizon.py theory/test_bounds_hold.py \
    test_example_package.py test_known_answers.py test_wheels.py) \
    $(patsubst %,--deselect='tests/test_doc_examples.py::test_blocks_run[docs/%.md]', client conditions first-hour migrate-from-smpybandits plan plots scale share simulate)

test: .venv/dev.stamp ## run the tests but the slow ones (ARGS='-k name' picks some)
	@$(BIN)/python -m pytest -n auto $(SLOW) $(ARGS)

test-all: .venv/dev.stamp ## run all tests, the slow ones too
	@$(BIN)/python -m pytest -n auto $(ARGS)

# Folders and files with tests of single functions, few of which compile a kernel or start a process.
QUICK := $(addprefix tests/, client/test_arguments.py client/test_spool.py experiments/test_parsing.py \
    experiments/test_definition.py instances planning/test_cases.py planning/test_choice.py results/test_result.py \
    service/campaigns/test_campaign.py service/campaigns/test_writer.py service/campaigns/test_golden.py \
    service/campaigns/test_series.py service/monitoring/test_status.py simulator/test_requests.py \
    simulator/test_checkpoints.py stores/test_address.py teachers/blt/test_teacher.py teachers/test_base.py \
    teachers/test_checks.py teachers/test_tal.py teachers/test_twl.py theory/test_theorems.py test_atomic_files.py \
    test_code_digest.py test_conditions.py test_draws.py test_epoch_schedule.py test_glossary.py test_metrics.py \
    test_registry.py test_revealed_rewards.py test_rules.py test_seeding.py test_struct_errors.py test_text.py \
    test_validation.py)

test-quick: .venv/dev.stamp ## run the tests of single functions, in about a minute
	@$(BIN)/python -m pytest -n auto $(QUICK) $(ARGS)

coverage: .venv/dev.stamp ## run the tests and measure which lines they reach, as pages in out/coverage/
	@$(BIN)/python -m pytest -n auto --cov=tutelage --cov-branch --cov-report=term:skip-covered \
	    --cov-report=html:out/coverage $(ARGS)

setup: .venv/run.stamp ## only create .venv, so that .venv/bin/tutelage can be run
	@echo 'Ready. Next, try: $(BIN)/tutelage --help'

lint: .venv/dev.stamp ## check style
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: .venv/dev.stamp ## fix style where it can be fixed automatically
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

types: .venv/dev.stamp ## check the types
	@$(BIN)/mypy

docs: .venv-docs/docs.stamp ## build the documentation as a site in out/docs/ (ARGS=--no-run: quickly)
	@$(DOCS_BIN)/python docs/site/build.py $(ARGS)

docs-tables: .venv/dev.stamp ## write the tables in docs/ that follow from the code
	@$(BIN)/python docs/make_tables.py
	@$(BIN)/python benchmarks/table.py --add-missing

imports: .venv/dev.stamp ## check the layers of imports
	@$(BIN)/lint-imports

wheel: .venv/dev.stamp ## build the wheel into dist/
	@$(BIN)/python -m build --no-isolation --wheel .

bench: .venv-bench/bench.stamp ## compare the speed of the simulator with targets and other bandit libraries
	@$(BENCH_BIN)/python benchmarks/simulator_speed.py $(ARGS)
	@$(BENCH_BIN)/python benchmarks/leaping.py --turns 2

table: .venv/run.stamp ## simulate every teacher with every policy and write docs/table.md
	@$(BIN)/python benchmarks/table.py $(ARGS)

agents: .venv-agents/agents.stamp ## teach agents of other libraries and write the table of docs/agents.md
	@$(AGENTS_BIN)/python benchmarks/agents.py $(ARGS)

test-agents: .venv-agents/agents.stamp ## run the tests with the real libraries whose agents can play as clients
	@$(AGENTS_BIN)/python -m pytest -n auto tests/agents $(ARGS)

radio-data:
	@test -f "$(TUTELAGE_DATA)/grenoble-k7/grenoble.k7.gz" || { \
	    echo 'Set TUTELAGE_DATA to the folder that holds grenoble-k7/grenoble.k7.gz; docs/radio-tutorial.md says where to get it.' >&2; \
	    exit 1; }

example-radio: radio-data .venv-agents/agents.stamp ## agents of four libraries choose radio channels, simulated and live
	@$(AGENTS_BIN)/python examples/agents/teach_radio.py $(ARGS)

example-dqn: .venv-sb3/sb3.stamp ## teach a learner of Stable-Baselines3 by a live campaign
	@$(SB3_BIN)/python examples/agents/teach_dqn.py $(ARGS)

claims: .venv/run.stamp ## judge each claim of the paper and write the tables of docs/claims.md
	@$(BIN)/python benchmarks/claims.py $(ARGS)

# ------------------------------------------------------------------------------------------- locks

# pip's own settings are ignored, so that a lock holds what the public index has, for every platform.
LOCK = env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL -u PIP_CONSTRAINT PIP_CONFIG_FILE=/dev/null \
    CUSTOM_COMPILE_COMMAND='make lock' \
    $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links $(ARGS)

lock: .venv/dev.stamp ## refresh the locks (ARGS=--upgrade for the newest versions)
	$(LOCK) --output-file requirements/build.txt requirements/build.in
	$(LOCK) --output-file requirements/run.txt -c requirements/build.txt pyproject.toml
	$(LOCK) --output-file requirements/dev.txt -c requirements/build.txt -c requirements/run.txt \
	    --extra dask --extra excel --extra gymnasium --extra parquet --extra pettingzoo --extra redis --extra tracing \
	    pyproject.toml requirements/dev.in
	$(LOCK) --output-file requirements/server.txt -c requirements/run.txt --extra tracing wheels/server/pyproject.toml
	$(LOCK) --output-file requirements/client.txt -c requirements/run.txt wheels/client/pyproject.toml
	$(LOCK) --output-file requirements/bench.txt -c requirements/build.txt -c requirements/run.txt \
	    pyproject.toml requirements/bench.in
	$(LOCK) --output-file requirements/generator.txt requirements/generator.in
	$(LOCK) --output-file requirements/agents.txt -c requirements/build.txt -c requirements/run.txt \
	    pyproject.toml requirements/agents.in
	$(LOCK) --output-file requirements/docs.txt -c requirements/build.txt -c requirements/run.txt \
	    pyproject.toml requirements/docs.in
	@! grep -n '://' requirements/*.txt || { echo 'A lock contains a URL: remove it.' >&2; exit 1; }

# --------------------------------------------------------------------------------------- environments

# $(call environment,FOLDER) creates an empty environment, or says in a sentence what is missing.
define environment
	@command -v $(firstword $(PYTHON)) > /dev/null || { \
	    echo '$(PYTHON) was not found: install Python 3.11 or newer, or name another, as in make PYTHON=python3.12.' >&2; \
	    exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Tutelage needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1): name another, as in make PYTHON=python3.12." >&2; \
	    exit 1; }
	@echo 'Creating $(1), which takes a minute or two ...' >&2
	@$(PYTHON) -m venv --clear $(1)
endef

.venv/made.stamp:
	$(call environment,.venv)
	@touch $@

# Half of the time of an installation would go to compiling files of which few are ever imported.
.venv/run.stamp: .venv/made.stamp requirements/build.txt requirements/run.txt pyproject.toml
	@$(BIN)/python $(PIP_INSTALL) --no-compile --require-hashes -r requirements/build.txt -r requirements/run.txt
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

# Compiled at their first import, in tests, files of other packages would give warnings, which are errors there.
.venv/dev.stamp: .venv/run.stamp requirements/dev.txt
	@echo 'Installing the development tools in .venv ...' >&2
	@$(BIN)/python $(PIP_INSTALL) --no-compile --require-hashes -r requirements/dev.txt
	@$(BIN)/python -W ignore -m compileall -qq -j 0 .venv/lib > /dev/null || true
	@touch $@

.venv-bench/made.stamp:
	$(call environment,.venv-bench)
	@touch $@

.venv-bench/bench.stamp: .venv-bench/made.stamp requirements/bench.txt pyproject.toml
	@$(BENCH_BIN)/python $(PIP_INSTALL) --require-hashes -r requirements/bench.txt
	@$(BENCH_BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv-agents/made.stamp:
	$(call environment,.venv-agents)
	@touch $@

.venv-agents/agents.stamp: .venv-agents/made.stamp requirements/agents.txt pyproject.toml
	@$(AGENTS_BIN)/python $(PIP_INSTALL) --require-hashes -r requirements/agents.txt
	@$(AGENTS_BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv-sb3/made.stamp:
	$(call environment,.venv-sb3)
	@touch $@

# What comes on top of the package's own lock is not locked: computing the hashes of PyTorch's files takes too long.
.venv-sb3/sb3.stamp: .venv-sb3/made.stamp requirements/build.txt requirements/run.txt requirements/stable-baselines3.in pyproject.toml
	@$(SB3_BIN)/python $(PIP_INSTALL) --require-hashes -r requirements/build.txt -r requirements/run.txt
	@$(SB3_BIN)/python $(PIP_INSTALL) -r requirements/stable-baselines3.in
	@$(SB3_BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv-docs/made.stamp:
	$(call environment,.venv-docs)
	@touch $@

.venv-docs/docs.stamp: .venv-docs/made.stamp requirements/build.txt requirements/docs.txt pyproject.toml
	@$(DOCS_BIN)/python $(PIP_INSTALL) --require-hashes -r requirements/build.txt -r requirements/docs.txt
	@$(DOCS_BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

clean: ## remove the environments and everything that was built
	rm -rf .venv .venv-bench .venv-agents .venv-sb3 .venv-docs build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
