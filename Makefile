# Everything runs in .venv, which the first target that needs it sets up. Only Python 3.11 and make are needed.

# Asked for its own path, since a shim of that name may stand on the path without a Python behind it.
PYTHON ?= $(shell python3.11 -c 'import sys; print(sys.executable)' 2>/dev/null || echo python3)
WORKERS ?= 2

# The extras with a library that learners wrap, or that figures are compared with.
LIBRARIES := accounting diffprivlib jax-privacy opacus opendp
# Other tools that audit, each with its pinned packages in benchmarks/anchors/requirements-TOOL.txt.
ANCHORS := jax-privacy privacy-estimates
# Libraries of which a release with reported bugs is searched, each with its pinned packages.
BUGGY := diffprivlib opendp smartnoise datasynthesizer pureldp
# Tools that no package index has: each compares with a checkout, where its variable names one.
PEERS := $(if $(DP_SNIPER),dp-sniper) $(if $(STATDP),statdp) $(if $(DP_AUDITORIUM),dp-auditorium)

PACKAGES := arena adversaries learners audits
PAGES := $(wildcard README.md docs/*.md docs/guides/*.md docs/explanation/*.md)
SLOW := coverage monitors searches suite distinguishers speed/scale $(addprefix by_learner/, experts winnow lists growth adult_training dimensions everlasting charts optimum) local_levels
QUICK := $(filter-out $(SLOW:%=benchmarks/%.py), $(wildcard benchmarks/*.py benchmarks/speed/*.py benchmarks/by_learner/*.py))
INSTALL := -m pip install --quiet --disable-pip-version-check
PYTEST := pytest --no-header
TEST := $(PYTEST) -n $(WORKERS) --dist worksteal -m

# Says why and stops, unless $(PYTHON) is recent enough; then makes the environment $(1) if it is not whole.
define environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "dp-arena needs Python 3.11 or newer; '$(PYTHON)' is not. Name one: make PYTHON=/path/to/python3.11 ..." >&2; \
	exit 1; }
@echo "Setting up $(1) (a minute or two, once) ..."
@test -x $(1)/bin/pip || $(PYTHON) -m venv --clear $(1)
endef

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test slowest check lint check-slow check-libraries torture bench bench-anchors bench-peers bench-coverage bench-monitors bench-search bench-bugs bench-bugs-peers bugs-libraries bench-suite bench-distinguishers bench-experts bench-lists bench-training bench-winnow bench-everlasting bench-optimum bench-scale pictures theorems tournament docs test-lowest format clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r name what; do \
		printf '%-20s %s\n' "$$name" "$$what"; done

# Each worker has a core to itself, and threads of linear algebra would wait for one another.
test slowest check check-slow test-lowest: export OPENBLAS_NUM_THREADS := 1

demo: .venv/ready  ## audit learners on the Adult data, and print what was found
	@.venv/bin/python examples/adult.py

test: .venv/ready  ## the tests without a marker (minutes)
	@.venv/bin/$(TEST) "not thorough and not slow"

slowest: .venv/ready  ## the tests of `make test` that take longest, with their seconds
	@.venv/bin/$(TEST) "not thorough and not slow" --durations=60 --durations-min=0.2

check: lint test  ## the gate: format, lint, types, import contracts, doctests, all tests but the slow ones
	@.venv/bin/$(PYTEST) --doctest-modules --doctest-glob='*.md' $(PACKAGES) $(PAGES)
	@.venv/bin/$(TEST) "thorough and not slow"

lint: .venv/ready  ## format, lint, types, import contracts
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy --no-error-summary
	@.venv/bin/lint-imports --no-logo --no-cache

check-slow: .venv/ready  ## the slow tests
	@.venv/bin/$(TEST) slow --hypothesis-profile=exploring

check-libraries: $(LIBRARIES:%=.venv-%/ready)  ## the tests with other libraries, in an environment for each (minutes; PyTorch and JAX are large)
	@for library in $(LIBRARIES); do echo "== $$library"; \
		tests="tests/learners/foreign tests/audits/surveys/test_shipped_catalogues.py"; \
		test $$library = accounting && tests="tests/arena/privacy_curves tests/learners/mechanisms/test_accountant.py"; \
		OMP_NUM_THREADS=1 .venv-$$library/bin/$(PYTEST) -rs $$tests || exit 1; done

torture: .venv/ready  ## 400 kills and other disturbances of runs, each compared with an undisturbed one (five minutes; TORTURE=long: 1,200, an hour)
	@.venv/bin/python tests/torture.py

bench: .venv/ready  ## the benchmarks that take seconds, one after the other
	@for file in $(QUICK); do echo "== $$file"; .venv/bin/python "$$file" || exit 1; done

bench-anchors: .venv/ready $(ANCHORS:%=.venv-anchors-%/ready)  ## our estimators beside those of other tools, on the same scores; resumable, in build/ (half an hour)
	@.venv/bin/python -m benchmarks.anchors.make_scores
	@export OMP_NUM_THREADS=1 WORKERS=$(WORKERS); \
	for tool in $(ANCHORS); do echo "== $$tool"; \
		.venv-anchors-$$tool/bin/python -m benchmarks.anchors.$$(echo $$tool | tr - _)_estimators || exit 1; done; \
	echo "== dp-arena"; .venv/bin/python -m benchmarks.anchors.own_estimators && .venv/bin/python -m benchmarks.anchors.tables
	@$(MAKE) --no-print-directory bench-peers

bench-peers: export OMP_NUM_THREADS := 1
bench-peers: export OPENBLAS_NUM_THREADS := 1
bench-peers: .venv/ready $(PEERS:%=.venv-anchors-%/ready)  ## audits beside DP-Sniper, StatDP and DP-Auditorium: DP_SNIPER=checkout STATDP=... DP_AUDITORIUM=...
	@for option in "" --pairs; do \
		DP_SNIPER="$(DP_SNIPER)" .venv/bin/python -m benchmarks.anchors.peers.side_by_side $$option && \
		STATDP="$(STATDP)" DP_AUDITORIUM="$(DP_AUDITORIUM)" .venv/bin/python -m benchmarks.anchors.peers.other_peers $$option || \
		exit 1; done

bench-coverage: .venv/ready  ## how often each estimator claims too much, over 10,000 audits a law (half an hour)
	@.venv/bin/python -m benchmarks.coverage

bench-search: .venv/ready  ## a thousand searches of each correct learner (hours); SEARCHES=... passes arguments
	@.venv/bin/python benchmarks/searches.py $(SEARCHES)

bench-bugs: .venv/ready  ## reported privacy bugs, searched unaided, with their twins: docs/bugs.md; resumable (hours; OPTIONS="NAME --seeds 1")
	@OPENBLAS_NUM_THREADS=1 .venv/bin/python -m benchmarks.bugs --jobs $(WORKERS) $(OPTIONS)

bench-bugs-peers: export OMP_NUM_THREADS := 1
bench-bugs-peers: export OPENBLAS_NUM_THREADS := 1
bench-bugs-peers: $(PEERS:%=.venv-anchors-%/ready) .venv-anchors-jax-privacy/ready  ## other auditors on the reported bugs: DP_SNIPER=checkout STATDP=... DP_AUDITORIUM=...; resumable (an hour)
	@for tool in $(PEERS) jax-privacy; do \
		DP_SNIPER="$(DP_SNIPER)" STATDP="$(STATDP)" DP_AUDITORIUM="$(DP_AUDITORIUM)" TF_CPP_MIN_LOG_LEVEL=3 \
			.venv-anchors-$$tool/bin/python -m benchmarks.anchors.peers.reported_bugs $$tool $(OPTIONS) || exit 1; done

bugs-libraries: $(BUGGY:%=.venv-bugs-%/ready)  ## reported bugs in releases of libraries, searched unaided in environments of their own; resumable
	@for library in $(BUGGY); do OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1 RUST_LIB_BACKTRACE=0 \
		.venv-bugs-$$library/bin/python -m benchmarks.bugs.releases $$library $(OPTIONS) || exit 1; done

bench-monitors: .venv/ready  ## a thousand projects of fifty nights whose claims are true: how often one is reported false (quarter of an hour)
	@.venv/bin/python -m benchmarks.monitors
	@.venv/bin/python -m benchmarks.monitors --power --projects 200

bench-suite: .venv/ready  ## the mechanisms of the literature: exact and certified loss, seconds
	@.venv/bin/python -m benchmarks.suite

bench-distinguishers: .venv/ready  ## learned distinguishers beside the likelihood ratio, at equal games (ten minutes)
	@.venv/bin/python -m benchmarks.distinguishers

bench-experts: .venv/ready  ## the private agnostic learners: regret, and their parts beside their bounds (minutes)
	@.venv/bin/python benchmarks/by_learner/experts.py

bench-lists: .venv/ready  ## decision lists: accuracy on Mushroom, examples needed, and their picture (minutes)
	@.venv/bin/python benchmarks/by_learner/lists.py

bench-training: .venv/ready  ## dp-sgd on Adult: claims, certified ε, accuracy, and their picture (ten minutes)
	@.venv/bin/python -m benchmarks.by_learner.adult_training

bench-winnow: .venv/ready  ## learners of halfspaces with margin: mistakes by dimension, margin, list and ε (minutes)
	@.venv/bin/python benchmarks/by_learner/winnow.py

bench-everlasting: .venv/ready  ## everlasting predictors: errors by round, examples needed, and their picture (minutes)
	@.venv/bin/python benchmarks/by_learner/everlasting.py

bench-optimum: .venv/ready  ## shipped adversaries beside the best adversary of small games (minutes)
	@.venv/bin/python benchmarks/by_learner/optimum.py --rounds 3

bench-scale: .venv/ready  ## runs of up to 10^8 games: cost, memory, backends, ledger (ten minutes)
	@.venv/bin/python benchmarks/speed/scale.py

pictures: .venv/ready  ## the pictures of online games in docs/, and their figures (ten minutes)
	@for name in growth dimensions everlasting; do .venv/bin/python benchmarks/by_learner/$$name.py || exit 1; done

theorems: .venv/ready  ## what the papers' theorems promise, measured; resumable, in build/ (half an hour)
	@echo "Half an hour; what is finished is kept in build/."
	@.venv/bin/python -m benchmarks.theorems
	@.venv/bin/python -m benchmarks.papers table4 adult --svt
	@.venv/bin/python -m benchmarks.papers table4 texts --svt --active forced --epsilon 1 --epsilon 2

tournament: .venv-tournament/ready  ## the tournament of all players, into docs/tournament.html; resumable, in build/ (hours; PyTorch and JAX are large)
	@echo "Hours; what is finished is kept in build/."
	@mkdir -p build
	@.venv-tournament/bin/python -m audits.cli tournament --jobs $(WORKERS) --ledger build/tournament.ledger \
		--html docs/tournament.html || test $$? -eq 3

docs: .venv-docs/ready  ## the documentation site, into build/docs (a minute)
	@echo "About a minute."
	@.venv-docs/bin/sphinx-build --fail-on-warning --keep-going --quiet docs build/docs

test-lowest: .venv-lowest/ready  ## the tests, on the oldest versions that setup.cfg allows
	@# What an old release warns of in the newer packages beneath it says nothing about this project.
	@.venv-lowest/bin/$(TEST) "not slow" -o filterwarnings=default

format: .venv/ready  ## format the code, and mend what can be mended unasked
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format --quiet .

clean:  ## remove the environments and everything made
	@rm -rf .venv .venv-docs .venv-lowest .venv-tournament $(LIBRARIES:%=.venv-%) .venv-anchors-* .venv-bugs-* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist *.egg-info
	@find $(PACKAGES) tests -name __pycache__ -prune -exec rm -rf {} +

.venv/ready: setup.cfg pyproject.toml
	$(call environment,.venv)
	@.venv/bin/python $(INSTALL) -e '.[test,learning,pandas,parquet,polars,report]'
	@touch $@

.venv-lowest/ready: setup.cfg pyproject.toml constraints-lowest.txt
	$(call environment,.venv-lowest)
	@.venv-lowest/bin/python $(INSTALL) -c constraints-lowest.txt -e '.[accounting,test,learning,pandas,parquet,polars,report]'
	@touch $@

$(LIBRARIES:%=.venv-%/ready): .venv-%/ready: setup.cfg pyproject.toml
	$(call environment,.venv-$*)
	@.venv-$*/bin/python $(INSTALL) -e '.[$*,test]'
	@touch $@

$(BUGGY:%=.venv-bugs-%/ready): .venv-bugs-%/ready: benchmarks/bugs/releases/requirements-%.txt setup.cfg
	$(call environment,.venv-bugs-$*)
	@.venv-bugs-$*/bin/python $(INSTALL) -e . -r $<
	@test ! -e benchmarks/bugs/releases/alone-$*.txt || \
		.venv-bugs-$*/bin/python $(INSTALL) --no-deps -r benchmarks/bugs/releases/alone-$*.txt
	@touch $@

$(ANCHORS:%=.venv-anchors-%/ready): .venv-anchors-%/ready: benchmarks/anchors/requirements-%.txt
$(PEERS:%=.venv-anchors-%/ready): .venv-anchors-%/ready: benchmarks/anchors/peers/requirements-%.txt
$(ANCHORS:%=.venv-anchors-%/ready) $(PEERS:%=.venv-anchors-%/ready):
	$(call environment,$(@D))
	@$(@D)/bin/python $(INSTALL) --no-deps -r $<
	@touch $@

# With the libraries of which learners play with their usual settings.
.venv-tournament/ready: setup.cfg pyproject.toml
	$(call environment,.venv-tournament)
	@.venv-tournament/bin/python $(INSTALL) -e '.[jax-privacy,learning,opacus,report]'
	@touch $@

.venv-docs/ready: setup.cfg pyproject.toml
	$(call environment,.venv-docs)
	@.venv-docs/bin/python $(INSTALL) -e '.[docs]'
	@touch $@
