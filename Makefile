# `make demo` and `make test` are enough on a fresh machine; `make help` lists the rest.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
SETUP := $(VENV)/.installed
SPARK_JARS := jars/spark/.fetched jars/tests/.fetched
QUINT := spec/node_modules/.installed
PYTEST := $(PY) -m pytest --durations=10

# Spark's Python workers run the interpreter of the environment, not the first python3 on PATH.
export PYSPARK_PYTHON := $(CURDIR)/$(PY)
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(PY)
# Containers often set this. Every test process, command and Spark worker would then compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE
# The time of the last commit stands for that of the build, so that the same commit makes the same bytes.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --pretty=%ct 2>/dev/null)

.PHONY: $(shell sed -n 's/^\([a-z][a-z -]*\):.*/\1/p' Makefile)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

# --- environments ------------------------------------------------------------------------------

setup: $(SETUP) ## Create .venv with exactly the packages of requirements.txt
$(SETUP): requirements.txt pyproject.toml
	@scripts/install $(VENV)
	@touch $@

# Environments of their own: Airflow and Superset pin other packages than ours.
setup-airflow: .venv-airflow/.installed ## Create .venv-airflow
setup-superset: .venv-superset/.installed ## Create .venv-superset
setup-docs: .venv-docs/.installed ## Create .venv-docs
.venv-%/.installed: requirements-%.txt
	@scripts/install $(@D) $<
	@touch $@

LOCK = $(UV) pip compile $(UPGRADE) --quiet --universal --python-version 3.11 --fork-strategy fewest \
  --generate-hashes --no-annotate --no-header --no-emit-index-url
lock: $(SETUP) ## Resolve pyproject.toml into requirements*.txt (UPGRADE=--upgrade: newest versions)
	$(LOCK) pyproject.toml --all-extras --group dev -o requirements.txt
	for group in airflow superset docs; do $(LOCK) --group $$group -o requirements-$$group.txt; done

jars: java jars/spark/.fetched ## Fetch the jars for Spark (Delta, Kafka source)
jars-broker: java jars/broker/.fetched ## Fetch a Kafka broker for the tests that need one
jars/%/.fetched: conf/jars/ivy.xml | $(SETUP)
	@$(VENV)/bin/rebalance-audit jars --configuration $* --out jars/$* >/dev/null

$(QUINT): spec/package.json spec/package-lock.json
	@scripts/require-node
	@cd spec && npm ci --loglevel=error
	@touch $@

java node:
	@scripts/require-$@

# --- use ---------------------------------------------------------------------------------------

demo: java $(SETUP) jars/spark/.fetched ## Audit a bundled real log with local Spark, and write the report, the page and a lake
	@$(VENV)/bin/rebalance-audit demo --spark

# --- tests -------------------------------------------------------------------------------------

# What a change needs, then what takes brokers, Airflow, clusters and more of Spark.
SUITES := test-fast test-lake test-spec test-page test-alerts test-docs
MORE_SUITES := test-spark test-broker test-dags test-cluster test-swarm test-wheel
test: java $(SETUP) node $(SPARK_JARS) jars/broker/.fetched jars/tlc/.fetched $(QUINT) .venv-docs/.installed ## Run what a change needs, one suite after the other: some 20 minutes on two cores
	@$(MAKE) --no-print-directory --keep-going $(SUITES)

test-all: java $(SETUP) $(SPARK_JARS) jars/broker/.fetched .venv-airflow/.installed ## Run the suites that `make test` leaves out, two at a time: some 40 minutes
	@$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target $(MORE_SUITES)

OTHER_SUITES := spark quality broker cluster spec page alerts site deploy release dashboards/test_superset.py
test-endurance: test-writers endurance-lake endurance-kills ## Kill, damage and lose what a lake has, with each writer (hours)

test-fast: $(SETUP) ## Run the tests that need nothing but Python
	$(PYTEST) -n 2 --dist loadfile -m "not spark and not swarm" $(OTHER_SUITES:%=--ignore=tests/%)

LAKE := tests/spark/bronze tests/spark/gold tests/spark/storage tests/spark/runs/test_run.py tests/spark/runs/test_increments.py
test-lake: java $(SETUP) $(SPARK_JARS) ## Run the tests of how tables are made, written and continued, in one Spark session
	$(PYTEST) $(LAKE)

test-spark: java $(SETUP) $(SPARK_JARS) jars/broker/.fetched ## Run the other tests that share a Spark session, some with a broker
	$(PYTEST) -m "spark or live or quality" $(LAKE:%=--ignore=%) tests/spark tests/broker tests/quality

test-writers: java $(SETUP) $(SPARK_JARS) ## Run the tests of the lake with the writer that is not the default (not part of `make test`)
	LAKE_WRITER=spark $(PYTEST) tests/spark

test-broker: java $(SETUP) $(SPARK_JARS) jars/broker/.fetched ## Run the tests that start Kafka brokers, or commands with a Spark of their own
	$(PYTEST) -m "spark or broker and not live" tests/cli/test_spark_commands.py tests/broker

test-dags: java package $(SPARK_JARS) .venv-airflow/.installed ## Run the DAGs with a real Airflow, Spark and lake
	.venv-airflow/bin/python -m pytest --durations=10 -c tests/dags/pytest.ini tests/dags

test-cluster: java package $(SPARK_JARS) ## Run the tests that start a Spark cluster on this machine
	$(PYTEST) -m cluster tests/cluster

test-swarm: $(SETUP) ## Simulate clusters, break rules, audit simulated and damaged logs, a small part of `make swarm` and `make accuracy`
	$(PYTEST) -n 2 -m swarm tests/sim tests/fuzz tests/accuracy tests/audit/broker_log tests/cli/commands/test_present.py

test-spec: node java $(SETUP) $(QUINT) jars/tlc/.fetched ## Hold handlers and real logs against the specifications, a small part of `make spec`
	$(PYTEST) tests/spec

test-page: $(SETUP) ## Drive the page of every bundled log in Chromium, if there is one or it can be installed (PICTURES=yes: keep pictures)
	@if scripts/install-chromium; then $(PYTEST) tests/page; else echo "The page was not tried in a browser."; fi

test-alerts: $(SETUP) ## Check rules and metrics with Prometheus' promtool, if there is one or it can be fetched
	@if scripts/fetch-promtool .promtool; then $(PYTEST) tests/alerts; else echo "Alert rules were not checked."; fi

test-docs: $(SETUP) .venv-docs/.installed ## Build the site of the pages, and look at what it loads
	$(PYTEST) tests/site

test-superset: $(SETUP) .venv-superset/.installed ## Import the dashboard into a Superset of its own (not part of `make test`)
	$(PYTEST) tests/dashboards

test-wheel: $(SETUP) ## Install the wheel alone, and run what needs no extra
	$(PYTEST) tests/release/test_wheel.py

test-release: $(SETUP) ## Install the wheel alone and run it, build twice, and lint the workflows (needs Go; not part of `make test`)
	@scripts/install-go-tools .tools
	$(PYTEST) tests/release

test-deploy: $(SETUP) ## Check the chart and the units: Helm's lint, Kubernetes' schemas, arguments (needs Go; not part of `make test`)
	@scripts/install-go-tools .tools
	$(PYTEST) tests/deploy

# --- depth, by hand ----------------------------------------------------------------------------

swarm: $(SETUP) ## Simulate many seeds (SEEDS=2000 FROM=0), and try many examples of each property (EXAMPLES=20)
	SWARM_SEEDS=$(or $(SEEDS),2000) SWARM_FIRST_SEED=$(or $(FROM),0) $(PYTEST) -n 2 -m swarm -k every_seed tests/sim/test_simulations.py
	EXAMPLES=$(or $(EXAMPLES),20) $(PYTEST) -n 2 -m hypothesis $(OTHER_SUITES:%=--ignore=tests/%)

spec: export CAPTURES := $(CAPTURES)
spec: node java $(SETUP) $(QUINT) jars/tlc/.fetched ## Hold captures (CAPTURES=folder), simulations and traces against the specifications, and explore them
	$(PY) -m tests.spec.main --traces $(or $(TRACES),10000) --seeds $(or $(SEEDS),40) --states $(or $(STATES),20000)
	SPEC_FULL=1 $(PYTEST) tests/spec

flag = $(if $($(1)),--$(2) $($(1)))
accuracy: $(SETUP) ## Audit simulated and real logs and count how often it was right (SEEDS=200 FROM=0 MINUTES=3 DENSE=800 SWEEPS=4 SWEEP_SEEDS=100 ORDINARY=200 CLIENTS=40)
	$(PY) -m workshop.accuracy --seeds $(or $(SEEDS),200) --from $(or $(FROM),0) $(call flag,MINUTES,minutes) $(call flag,DENSE,dense) \
	  $(call flag,SWEEPS,sweeps) $(call flag,SWEEP_SEEDS,sweep-seeds) $(call flag,ORDINARY,ordinary) $(call flag,CLIENTS,clients) \
	  $(call flag,WORKERS,workers) --page docs/accuracy.md

LAB_JARS = $(patsubst jars/broker-4.3/%,jars/broker/%,$(RELEASES:%=jars/broker-%/.fetched))
lab: RELEASES ?= 4.0 4.1 4.2 4.3 4.4
lab: java $(SETUP) ## Play the stories of workshop/lab on brokers (RELEASES="4.0 4.3", KEEP=1 keeps their logs as golden logs)
	@$(MAKE) --no-print-directory $(LAB_JARS)
	$(PY) -m workshop.lab $(RELEASES) $(if $(KEEP),--keep)

lab-load: RELEASES ?= 3.9 4.0 4.1 4.2 4.3 4.4
lab-load: java $(SETUP) ## Let brokers load logs with faults and compare with `verify` (RELEASES="3.9 4.3", KEEP=1 keeps what they did as truth, SEED=7: logs with random changes)
	@$(MAKE) --no-print-directory $(LAB_JARS)
	$(PY) -m workshop.lab_load $(RELEASES) $(if $(KEEP),--keep) $(if $(SEED),--random $(SEED))

reads: java $(SETUP) jars/broker/.fetched ## Compare the cost of rebalances with what real clients log that they read (CLIENTS="java librdkafka aiokafka", KEEP=1 keeps the captures)
	$(PY) -m workshop.reads $(CLIENTS) $(if $(KEEP),--keep)

test-platforms: java $(SETUP) ## Run a smoke suite on other Spark releases and platforms, in environments of its own in build/platforms (ONLY="spark-3.5 connect")
	$(PY) -m workshop.platforms $(if $(ONLY),--only $(ONLY)) || failed=$$?; \
	  $(PY) -m workshop.pages.spark_releases --write; exit $${failed:-0}

bench: java $(SETUP) $(SPARK_JARS) jars/broker/.fetched ## Compare speed with Kafka's own tools (RECORDS=4000000)
	$(PY) -m workshop.bench.bench --records $(or $(RECORDS),4000000)

scale: java $(SETUP) $(SPARK_JARS) ## Measure what runs cost by records, groups, members, skew, and what an increment costs (RECORDS="1000000 4000000")
	$(PY) -m workshop.bench.reducer_shapes
	$(PY) -m workshop.bench.scale increment --more --records $(or $(RECORDS),1000000 4000000 16000000)
	$(PY) -m workshop.bench.scale shapes

endurance: java $(SETUP) $(SPARK_JARS) jars/broker/.fetched ## Kill ingests and runs while a broker is under load, then compare (MINUTES=10 SEED=1)
	$(PY) -m workshop.endurance --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

endurance-kills: java $(SETUP) $(SPARK_JARS) ## Kill runs, ingests and maintenance with each writer, then compare (KILLS=25 SEED=1)
	$(PY) -m workshop.endurance.kills --kills $(or $(KILLS),25) --seed $(or $(SEED),1)

endurance-lake: java $(SPARK_JARS) package ## Do every fault to every table (WRITER=spark, TOGETHER=1), kill executors in turn, run several writers without locks
	$(PY) -m workshop.endurance.faults --writer $(or $(WRITER),delta-rs) $(if $(TOGETHER),--together)
	$(PY) -m workshop.endurance.executors --rounds $(or $(ROUNDS),3) --seed $(or $(SEED),1)
	$(PY) -m workshop.endurance.writers --writer $(or $(WRITER),delta-rs) --rounds $(or $(ROUNDS),3) --seed $(or $(SEED),1)

# --- code --------------------------------------------------------------------------------------

lint: $(SETUP) ## Lint, and check the formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: $(SETUP) ## Format, and fix what the linter can fix
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

types: types-package types-dags ## Check the types, those of the DAGs in Airflow's environment
types-package: $(SETUP)
	$(PY) -m mypy
types-dags: $(SETUP) .venv-airflow/.installed
	MYPYPATH=airflow_dags:tests/dags $(PY) -m mypy --python-executable .venv-airflow/bin/python \
	  --cache-dir .mypy_cache/dags airflow_dags tests/dags/*.py

contracts: $(SETUP) ## Check the import contracts
	$(VENV)/bin/lint-imports

GENERATORS := codegen suites pages.tables dashboards json_schemas $(addprefix pages.,findings causes departures broker_logs glossary limits loading commands upgrades spark_releases)
codegen: $(SETUP) ## Write the files that are generated from schemas/ and from tables in the code
	for name in $(GENERATORS); do $(PY) -m workshop.$$name --write; done
	$(PY) -m tests.cli.readme --write

check-generated: $(SETUP) ## Check that the generated files are up to date
	for name in $(GENERATORS); do $(PY) -m workshop.$$name --check; done

# --- results -----------------------------------------------------------------------------------

docs: .venv-docs/.installed ## Build the pages of docs/ as a site, in site/
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet

package: $(SETUP) ## Build the wheel, and the same as a zip for spark-submit --py-files
	rm -f dist/rebalance_audit*
	$(UV) build --quiet --python $(PY) --wheel --no-build-isolation --out-dir dist
	cp dist/rebalance_audit-*.whl dist/rebalance_audit.zip

dist: package dist/environment.tar.gz ## Build what a cluster needs: package, and dist/environment.tar.gz for spark.archives
dist/environment.tar.gz: requirements.txt pyproject.toml scripts/pack-environment | $(SETUP)
	@scripts/pack-environment $(PY) $(UV) dist

release: $(SETUP) ## Build what a release publishes: wheel, sdist and a CycloneDX list of what the default install contains
	rm -rf dist/release build/release-environment
	$(UV) build --quiet --python $(PY) --no-build-isolation --out-dir dist/release
	@UV=$(UV) PYTHON=$(PY) scripts/install build/release-environment "$$(ls dist/release/*.whl)"
	$(VENV)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
	  -o dist/release/rebalance-audit.cdx.json build/release-environment/bin/python

clean: ## Remove what was built; environments and jars stay
	rm -rf dist build site demo-audit metastore_db spark-warehouse derby.log
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests jobs scripts -name __pycache__ -prune -exec rm -rf {} +
