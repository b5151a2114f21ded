# Two commands do everything on a fresh machine: `make demo` and `make test`.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
ifndef IN_PARALLEL
.NOTPARALLEL: # the checks for Java and Python come before anything is installed
endif
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
INSTALLED := $(VENV)/.installed
AIRFLOW_VENV := .venv-airflow
AIRFLOW_INSTALLED := $(AIRFLOW_VENV)/.installed
JARS := jars/spark/.fetched
BROKER_JARS := jars/broker/.fetched
TEST_JARS := jars/tests/.fetched
# What Java need not load and check anew each time that a test starts a broker: a second of processor time.
BROKER_CLASSES := build/broker.jsa
QUINT := spec/node_modules/.installed
TLC := jars/tlc/.fetched
PROMTOOL := .promtool/.fetched
GO_TOOLS := .tools/.installed
SUPERSET_VENV := .venv-superset
SUPERSET_INSTALLED := $(SUPERSET_VENV)/.installed
DOCS_VENV := .venv-docs
DOCS_INSTALLED := $(DOCS_VENV)/.installed

# Spark's Python workers run the interpreter of the environment, not the first python3 on PATH.
export PYSPARK_PYTHON := $(CURDIR)/$(PY)
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(PY)

# Containers often set this. Every test process, command and Spark worker would then compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

# --- environment -------------------------------------------------------------------------------

.PHONY: setup
setup: $(INSTALLED) ## Create .venv with exactly the packages of requirements.txt

$(INSTALLED): requirements.txt pyproject.toml
	@scripts/install $(VENV)
	@touch $@

.PHONY: setup-airflow
setup-airflow: $(AIRFLOW_INSTALLED) ## Create .venv-airflow, where Airflow runs, with the packages of requirements-airflow.txt

$(AIRFLOW_INSTALLED): requirements-airflow.txt
	@scripts/install $(AIRFLOW_VENV) requirements-airflow.txt
	@touch $@

.PHONY: setup-superset
setup-superset: $(SUPERSET_INSTALLED) ## Create .venv-superset, where the dashboard is tried, with the packages of requirements-superset.txt

$(SUPERSET_INSTALLED): requirements-superset.txt
	@scripts/install $(SUPERSET_VENV) requirements-superset.txt
	@touch $@

.PHONY: setup-docs
setup-docs: $(DOCS_INSTALLED) ## Create .venv-docs, where the pages become a site, with the packages of requirements-docs.txt

$(DOCS_INSTALLED): requirements-docs.txt
	@scripts/install $(DOCS_VENV) requirements-docs.txt
	@touch $@

.PHONY: jars
jars: java $(JARS) ## Fetch the jars for Spark (Delta, Kafka source)

$(BROKER_CLASSES): $(INSTALLED) $(BROKER_JARS)
	@$(PY) -m tests.support.broker_classes

.PHONY: jars-broker
jars-broker: java $(BROKER_JARS) ## Fetch a Kafka broker for the tests that need one

jars/%/.fetched: conf/jars/ivy.xml | $(INSTALLED)
	@$(VENV)/bin/rebalance-audit jars --configuration $* --out jars/$* >/dev/null

# Quint, the engine of the specifications; exactly the packages of spec/package-lock.json.
# Packages come from the registry that npm is configured with; the lock holds their hashes and no address.
$(QUINT): spec/package.json spec/package-lock.json
	@scripts/require-node
	@cd spec && npm ci --loglevel=error
	@touch $@

.PHONY: node
node:
	@scripts/require-node

.PHONY: java
java:
	@scripts/require-java

LOCK = $(UV) pip compile $(UPGRADE) --quiet --universal --python-version 3.11 --fork-strategy fewest \
  --generate-hashes --no-annotate --no-header --no-emit-index-url

.PHONY: lock
lock: $(INSTALLED) ## Resolve pyproject.toml into requirements*.txt (UPGRADE=--upgrade: newest versions)
	$(LOCK) pyproject.toml --all-extras --group dev -o requirements.txt
	$(LOCK) --group airflow -o requirements-airflow.txt
	$(LOCK) --group superset -o requirements-superset.txt
	$(LOCK) --group docs -o requirements-docs.txt

$(PROMTOOL): scripts/fetch-promtool
	@scripts/fetch-promtool .promtool
	@touch $@

# --- use ---------------------------------------------------------------------------------------

.PHONY: demo
demo: java $(INSTALLED) $(JARS) ## Audit a bundled real log with local Spark, and write the report, the page and a lake
	@$(VENV)/bin/rebalance-audit demo --spark

# --- checks ------------------------------------------------------------------------------------

# Suites that wait, for brokers, workers and sessions that time out, leave the cores to the others: with three at once
# instead of four both cores were busy 95 instead of 99 % of the time. Those that take longest begin first, and each
# prints its output when it has ended. What one JVM can do is one suite: each starts with uncompiled code. The last
# ones keep both cores busy: a cluster has several processes, a browser hardly more than one.
SUITES := test-session test-fast test-spec test-dags test-no-session test-swarm test-if-possible test-cluster test-screens test-docs
SUITES_AT_ONCE := 4
# The longest does not wait for the others.
GIVING_WAY := $(if $(IN_PARALLEL),nice -n 10)
# What is done each time that a suite is asked for. `make test` has done it before such a suite begins: one that has to wait
# lets all the others go first.
EACH_TIME = $(if $(IN_PARALLEL),,$(1))
PYTEST := $(GIVING_WAY) $(PY) -m pytest

.PHONY: test
test: java $(INSTALLED) node $(JARS) $(TEST_JARS) $(BROKER_JARS) $(BROKER_CLASSES) $(AIRFLOW_INSTALLED) $(DOCS_INSTALLED) $(QUINT) $(TLC) package ## Run all tests, the suites in parallel
	@$(MAKE) --no-print-directory --jobs=$(SUITES_AT_ONCE) --output-sync=target IN_PARALLEL=yes $(SUITES)

# Folders as well as marks: reading test files takes time in each process, so those that will not run are not read.
NEEDS_JVM := tests/spark tests/quality tests/cluster tests/broker
NEEDS_MORE := $(NEEDS_JVM) tests/deploy tests/release tests/spec tests/alerts tests/agents/test_server.py tests/dashboards tests/site tests/page
PLAIN := $(NEEDS_MORE:%=--ignore=%)

# Two processes; one beside other suites, which keep the other core busy: two would import and collect everything twice.
IN_TWO := $(if $(IN_PARALLEL),,-n 2)
# Each has what the tests of a file share: their logs, audits, lakes.
BY_FILE := $(if $(IN_PARALLEL),,--dist loadfile)
# One session for all tests that need one, and the other process for those that need a broker alone.
WITH_BROKER := -n 2 --dist loadgroup

# Simulations and damaged logs, whose number is a matter of patience.
SWARM := $(PYTEST) -m swarm $(IN_TWO) -q
HAVE_SWARMS := tests/sim tests/fuzz tests/accuracy tests/audit/broker_log tests/cli/commands/test_present.py

.PHONY: test-fast
test-fast: $(INSTALLED) ## Run the tests that need no JVM, but for random clusters and damaged logs
	$(PYTEST) -m "not spark and not quality and not cluster and not broker and not swarm" $(IN_TWO) $(BY_FILE) $(PLAIN)

.PHONY: test-spec
test-spec: $(call EACH_TIME,node java) $(INSTALLED) $(QUINT) $(TLC) ## Hold handlers and real logs against the specifications, a small part of `make spec`
	$(PYTEST) tests/spec

.PHONY: test-screens
test-screens: $(INSTALLED) ## Run the server for agents with the SDK's client, and Grafana's queries with SQLite
	$(PYTEST) tests/agents tests/dashboards/test_grafana.py

# Pictures of all pages, for people: they take as long as the checks. `make test` goes without.
PICTURES := yes

.PHONY: test-page
test-page: $(INSTALLED) ## Drive the page of every bundled log in Chromium, which is installed if need be
	@scripts/install-chromium
	PICTURES=$(PICTURES) $(PYTEST) tests/page

# A browser and Prometheus are no packages of ours: where they are not and cannot be had, all else is tested. One after the
# other, since both may ask apt.
.PHONY: test-if-possible
test-if-possible: $(INSTALLED)
	@if scripts/install-chromium; then $(MAKE) --no-print-directory PICTURES= test-page; \
	else echo "The page was not tried in a browser, since there is none and none could be installed."; fi
	@if $(MAKE) --no-print-directory $(PROMTOOL); then $(MAKE) --no-print-directory test-alerts; \
	else echo "Alert rules were not checked, since there is no promtool and none could be fetched."; fi

.PHONY: test-docs
test-docs: $(INSTALLED) $(DOCS_INSTALLED) ## Build the site of the pages, and look at what it loads
	$(PYTEST) tests/site

.PHONY: test-alerts
test-alerts: $(INSTALLED) $(PROMTOOL) ## Check rules and metrics with Prometheus' promtool, fetched from Debian's package if need be
	$(PYTEST) tests/alerts

.PHONY: test-superset
test-superset: $(INSTALLED) $(SUPERSET_INSTALLED) ## Import the dashboard into a Superset of its own and fetch every chart's rows (not part of `make test`)
	$(PY) -m pytest tests/dashboards

.PHONY: test-swarm
test-swarm: $(INSTALLED) ## Simulate a few hundred seeds, audit some of them, break rules, and read damaged logs
	SWARM_SEEDS=300 $(SWARM) $(HAVE_SWARMS)

.PHONY: test-spark
test-spark: java $(INSTALLED) $(JARS) $(TEST_JARS) ## Run the tests that start Spark
	$(PY) -m pytest -m spark tests/cli tests/spark

# `test-spark`, `test-broker` and `test-quality` together, otherwise divided: all that can share one JVM, and what starts
# its own.
.PHONY: test-session test-no-session
test-session: $(call EACH_TIME,java) $(INSTALLED) $(JARS) $(TEST_JARS) $(BROKER_JARS) $(BROKER_CLASSES)
	$(PY) -m pytest -m "spark or live or quality" tests/spark tests/broker tests/quality

test-no-session: $(call EACH_TIME,java) $(INSTALLED) $(JARS) $(TEST_JARS) $(BROKER_JARS) $(BROKER_CLASSES)
	$(PYTEST) -m "spark or broker and not live" tests/cli tests/broker

.PHONY: test-quality
test-quality: java $(INSTALLED) $(JARS) $(TEST_JARS) ## Run the tests of the checks, which start Spark
	$(PY) -m pytest -m quality tests/quality

.PHONY: test-cluster
test-cluster: $(call EACH_TIME,java package) $(INSTALLED) $(JARS) $(TEST_JARS) ## Run the tests that start a Spark cluster on this machine
	$(PYTEST) -m cluster tests/cluster

.PHONY: test-broker
test-broker: java $(INSTALLED) $(JARS) $(TEST_JARS) $(BROKER_JARS) $(BROKER_CLASSES) ## Run the tests that start a Kafka broker
	$(PY) -m pytest -m broker $(WITH_BROKER) tests/broker

# The pinned release is the one that `jars-broker` fetches.
RELEASES := 4.0 4.1 4.2 4.3 4.4
LAB_JARS = $(patsubst jars/broker-4.3/%,jars/broker/%,$(RELEASES:%=jars/broker-%/.fetched))

.PHONY: lab
lab: java $(INSTALLED) ## Play the stories of tests/broker/lab on brokers (RELEASES="4.0 4.3", KEEP=1 keeps their logs as golden logs)
	@$(MAKE) --no-print-directory $(LAB_JARS)
	$(PY) -m tests.broker.lab $(RELEASES) $(if $(KEEP),--keep)

.PHONY: test-dags
test-dags: $(call EACH_TIME,java package) $(INSTALLED) $(JARS) $(TEST_JARS) $(AIRFLOW_INSTALLED) ## Run the DAGs with a real Airflow, Spark and lake
	$(GIVING_WAY) $(AIRFLOW_VENV)/bin/python -m pytest -c tests/dags/pytest.ini tests/dags

.PHONY: swarm
swarm: $(INSTALLED) ## Simulate many seeds (SEEDS=2000 FROM=0), and try many examples of each property (EXAMPLES=20)
	SWARM_SEEDS=$(or $(SEEDS),2000) SWARM_FIRST_SEED=$(or $(FROM),0) $(SWARM) -k every_seed tests/sim/test_simulations.py
	EXAMPLES=$(or $(EXAMPLES),20) $(PY) -m pytest -m hypothesis -n 2 $(NEEDS_JVM:%=--ignore=%)

.PHONY: spec
spec: export CAPTURES := $(CAPTURES)
spec: node java $(INSTALLED) $(QUINT) $(TLC) ## Hold captures (of a folder: CAPTURES=…), simulations and traces (TRACES=10000) against the specifications, and explore them
	$(PY) -m tests.spec.main --traces $(or $(TRACES),10000) --seeds $(or $(SEEDS),40) --states $(or $(STATES),20000)
	SPEC_FULL=1 $(PY) -m pytest tests/spec

.PHONY: accuracy
accuracy: $(INSTALLED) ## Audit simulated and real logs and count how often it was right (SEEDS=200 FROM=0 MINUTES=3 DENSE=800 SWEEPS=4 SWEEP_SEEDS=100 ORDINARY=200 CLIENTS=40)
	$(PY) -m tests.accuracy --seeds $(or $(SEEDS),200) --from $(or $(FROM),0) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(DENSE),--dense $(DENSE)) $(if $(SWEEPS),--sweeps $(SWEEPS)) \
	  $(if $(SWEEP_SEEDS),--sweep-seeds $(SWEEP_SEEDS)) $(if $(ORDINARY),--ordinary $(ORDINARY)) $(if $(CLIENTS),--clients $(CLIENTS)) $(if $(WORKERS),--workers $(WORKERS)) \
	  --page docs/accuracy.md

.PHONY: lint
lint: $(INSTALLED) ## Lint, and check the formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

.PHONY: format
format: $(INSTALLED) ## Format, and fix what the linter can fix
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

.PHONY: types
types: types-package types-dags ## Check the types, those of the DAGs in Airflow's environment

.PHONY: types-package
types-package: $(INSTALLED) ## Check the types of the package, its tests and tools
	$(PY) -m mypy

.PHONY: types-dags
types-dags: $(INSTALLED) $(AIRFLOW_INSTALLED) ## Check the types of the DAGs and their tests
	MYPYPATH=airflow_dags:tests/dags $(PY) -m mypy --python-executable $(AIRFLOW_VENV)/bin/python \
	  --cache-dir .mypy_cache/dags airflow_dags tests/dags/*.py

.PHONY: contracts
contracts: $(INSTALLED) ## Check the import contracts
	$(VENV)/bin/lint-imports

.PHONY: codegen
codegen: $(INSTALLED) ## Write the files that are generated from schemas/ and from tables in the code
	$(PY) -m tools.codegen --write
	$(PY) -m tools.pages.tables --write
	$(PY) -m tools.dashboards --write
	$(PY) -m tools.json_schemas --write
	$(PY) -m tests.cli.readme --write
	$(PY) -m tools.pages.findings --write
	$(PY) -m tools.pages.causes --write
	$(PY) -m tools.pages.departures --write
	$(PY) -m tools.pages.broker_logs --write
	$(PY) -m tools.pages.glossary --write
	$(PY) -m tools.pages.limits --write
	$(PY) -m tools.pages.commands --write
	$(PY) -m tools.pages.upgrades --write

.PHONY: check-generated
check-generated: $(INSTALLED) ## Check that the generated files are up to date
	$(PY) -m tools.codegen --check
	$(PY) -m tools.pages.tables --check
	$(PY) -m tools.dashboards --check
	$(PY) -m tools.json_schemas --check
	$(PY) -m tools.pages.findings --check
	$(PY) -m tools.pages.causes --check
	$(PY) -m tools.pages.departures --check
	$(PY) -m tools.pages.broker_logs --check
	$(PY) -m tools.pages.glossary --check
	$(PY) -m tools.pages.limits --check
	$(PY) -m tools.pages.commands --check
	$(PY) -m tools.pages.upgrades --check

.PHONY: bench
bench: java $(INSTALLED) $(JARS) $(BROKER_JARS) ## Compare speed with Kafka's own tools (RECORDS=4000000)
	$(PY) -m tests.perf.bench --records $(or $(RECORDS),4000000)

.PHONY: endurance
endurance: java $(INSTALLED) $(JARS) $(BROKER_JARS) ## Kill ingests and runs while a broker is under load, then compare (MINUTES=10 SEED=1)
	$(PY) -m tests.endurance --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

.PHONY: endurance-lake
endurance-lake: java $(INSTALLED) $(JARS) package ## Do every fault to every table (WRITER=spark, TOGETHER=1: to all at once), kill executors in turn, run several writers without locks: an hour
	$(PY) -m tests.endurance.faults --writer $(or $(WRITER),delta-rs) $(if $(TOGETHER),--together)
	$(PY) -m tests.endurance.executors --rounds $(or $(ROUNDS),3) --seed $(or $(SEED),1)
	$(PY) -m tests.endurance.writers --writer $(or $(WRITER),delta-rs) --rounds $(or $(ROUNDS),3) --seed $(or $(SEED),1)

.PHONY: scale
scale: java $(INSTALLED) $(JARS) ## Measure what runs cost by records, groups, members, skew, and what an increment costs (RECORDS="1000000 4000000")
	$(PY) -m tests.perf.reducer_shapes
	$(PY) -m tests.perf.scale increment --more --records $(or $(RECORDS),1000000 4000000 16000000)
	$(PY) -m tests.perf.scale shapes

# --- pages ---------------------------------------------------------------------------------------

.PHONY: docs
docs: $(DOCS_INSTALLED) ## Build the pages of docs/ as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --quiet

# --- results -----------------------------------------------------------------------------------

.PHONY: dist
dist: package dist/environment.tar.gz ## Build what a cluster needs: package, and dist/environment.tar.gz for spark.archives

.PHONY: package
package: $(INSTALLED) ## Build the wheel, and the same as a zip for spark-submit --py-files
	rm -f dist/rebalance_audit*
	$(UV) build --quiet --python $(PY) --wheel --no-build-isolation --out-dir dist
	cp dist/rebalance_audit-*.whl dist/rebalance_audit.zip

dist/environment.tar.gz: requirements.txt pyproject.toml scripts/pack-environment | $(INSTALLED)
	@scripts/pack-environment $(PY) $(UV) dist

# The time of the last commit stands for that of the build, so that the same commit makes the same bytes.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --pretty=%ct 2>/dev/null)
RELEASE_ENV := build/release-environment

.PHONY: release
release: $(INSTALLED) ## Build what a release publishes: wheel, sdist and a CycloneDX list of what the default install contains
	rm -rf dist/release $(RELEASE_ENV)
	$(UV) build --quiet --python $(PY) --no-build-isolation --out-dir dist/release
	@UV=$(UV) PYTHON=$(PY) scripts/install $(RELEASE_ENV) "$$(ls dist/release/*.whl)"
	$(VENV)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
	  -o dist/release/rebalance-audit.cdx.json $(RELEASE_ENV)/bin/python

$(GO_TOOLS): scripts/install-go-tools
	@scripts/install-go-tools $(@D)
	@touch $@

.PHONY: test-release
test-release: $(INSTALLED) $(GO_TOOLS) ## Install the wheel alone and run it, build twice, and lint the workflows
	$(PYTEST) tests/release

.PHONY: test-deploy
test-deploy: $(INSTALLED) $(GO_TOOLS) ## Check the chart and the units: Helm's lint, Kubernetes' schemas, arguments of commands
	$(PYTEST) tests/deploy

.PHONY: clean
clean: ## Remove what was built; the environment and the jars stay
	rm -rf dist build site demo-audit metastore_db spark-warehouse derby.log
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests jobs scripts -name __pycache__ -prune -exec rm -rf {} +
