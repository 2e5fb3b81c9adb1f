# `make demo` and `make test` do all the set-up on a Debian machine with Python 3.11 and git.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-lowest test-python test-docker docker-base test-harbor harbor-base test-verifiers agents openhands-root coverage quick fuzz audit audit-published draws suite-page format lint docs bench performance clean

demo: .venv/installed system
	$(BIN)/lmrbench grade --golden --mask --wrong --most 3 --fail-fast --out runs/demo
	$(BIN)/lmrbench report runs/demo

test: .venv/installed system browser lint
	$(BIN)/lmrbench task audit --quick
	$(BIN)/pytest -n $$(($$(nproc) + 1)) --dist worksteal

# The floor stands in pyproject.toml. What runs inside of sandboxes is not measured.
coverage: .venv/installed system
	$(BIN)/pytest -n auto --dist worksteal --cov --cov-report=term

# Needs neither a sandbox nor torch. Types, whose first check takes longer than the rest, are checked by `lint`.
quick: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n auto --dist worksteal -m "not slow and not sandbox and not browser and not docker"

# `make test` tries the same few examples each time; this tries new ones. Ctrl-C ends it, EXAMPLES says how many.
fuzz: EXAMPLES ?= 100000
fuzz: .venv/installed
	EXAMPLES=$(EXAMPLES) $(BIN)/pytest -n auto --dist worksteal tests/fuzz

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/inspect-evals-lint solving >/dev/null || $(BIN)/inspect-evals-lint solving

audit: .venv/installed system
	for tier in function method twin; do $(BIN)/lmrbench task audit --tier $$tier || exit 1; done

# Fetches published packages, and makes the environments that they need.
audit-published: .venv/installed system
	for suite in real live; do \
		$(BIN)/lmrbench setup fetch --suite $$suite && $(BIN)/lmrbench setup env build --suite $$suite \
			&& $(BIN)/lmrbench grade --golden --mask --rewrites --wrong --suite $$suite --out runs/$$suite \
			&& $(BIN)/lmrbench task audit --suite $$suite || exit 1; done

# All published forensic tasks, and some two hundred that nobody has seen; takes hours.
draws: FIRST ?= 1
draws: .venv/installed system
	$(BIN)/lmrbench task audit --tier forensic
	for seed in 0 1 2 3; do $(BIN)/lmrbench task audit --tier forensic --fresh $$(($(FIRST) + seed)) || exit 1; done

suite-page: .venv/installed
	$(BIN)/lmrbench list --markdown > docs/suite.md
	$(BIN)/lmrbench list --summary --figure docs/pictures/suite.svg >/dev/null

bench: .venv/installed system
	$(BIN)/python benchmarks/grading.py
	$(BIN)/python benchmarks/throughput.py
	PYTHONPATH=. $(BIN)/python benchmarks/solving.py
	$(BIN)/lmrbench setup fetch --suite real typical_sampling
	$(BIN)/lmrbench setup env build --suite real typical_sampling
	$(BIN)/python benchmarks/real.py

# Writes docs/performance.md; takes hours on a small machine, which should do nothing else.
performance: .venv/installed system docker-base
	LMRBENCH_BASE_IMAGE=lmrbench-base $(BIN)/python benchmarks/performance.py

docs: .venv/installed
	$(BIN)/pip install --quiet -e '.[docs]'
	$(BIN)/mkdocs build --strict

# Further options of pip, for machines where it would bring the build of torch for GPUs, with gigabytes of CUDA.
PIP_OPTIONS ?=
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet $(PIP_OPTIONS) -e '.[dev]'
	touch $@

# Installing needs root; without it, `lmrbench setup doctor` says what to ask the administrator for.
.PHONY: browser
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
		|| sudo -n apt-get install -y -qq chromium || echo 'NOT TESTED: pages in a browser, which needs chromium' >&2

.PHONY: system
system:
	@command -v bwrap >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null; } \
		|| sudo -n apt-get install -y -qq bubblewrap \
		|| { echo 'bubblewrap is needed: apt-get install bubblewrap' >&2; exit 1; }

# A base image for `--sandbox docker`, without Docker Hub; needs root, and starts an Engine if none runs.
docker-base:
	command -v debootstrap >/dev/null && command -v dockerd >/dev/null || { apt-get update -qq && apt-get install -y -qq docker.io debootstrap >/dev/null; }
	docker info >/dev/null 2>&1 || { setsid dockerd >/var/log/lmrbench-dockerd.log 2>&1 & }
	for second in $$(seq 60); do docker info >/dev/null 2>&1 && break; sleep 1; done
	docker info >/dev/null 2>&1 || { echo 'NOT TESTED: no Docker Engine could be started:' >&2; tail /var/log/lmrbench-dockerd.log >&2; exit 1; }
	folder=$$(mktemp -d) && debootstrap --variant=minbase --include=python3 bookworm $$folder/base >/dev/null \
		&& tar -C $$folder/base -c . | docker import - lmrbench-base >/dev/null && rm -rf $$folder
	@echo 'LMRBENCH_BASE_IMAGE=lmrbench-base names it'

# The tests of `--sandbox docker`, attacks among them.
test-docker: .venv/installed docker-base
	LMRBENCH_BASE_IMAGE=lmrbench-base $(BIN)/pytest -n 2 --dist worksteal -m docker

HARBOR_ROOT ?= /opt/harbor
# Exports four tasks, lints them, and runs Harbor's oracle and an agent that does nothing; takes a quarter of an hour.
test-harbor: .venv/installed $(HARBOR_ROOT)/harbor harbor-base
	LMRBENCH_HARBOR=$(HARBOR_ROOT)/harbor LMRBENCH_HARBOR_BASE=lmrbench-harbor \
		$(BIN)/pytest -m docker tests/integrations/test_harbor.py

# Harbor in a root of Debian 13, because it needs Python 3.12 or newer; needs root.
$(HARBOR_ROOT)/harbor:
	command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap >/dev/null; }
	debootstrap --variant=minbase --include=python3-venv,ca-certificates,docker-cli,docker-compose,docker-buildx \
		trixie $(HARBOR_ROOT) >/dev/null
	cp -L /etc/resolv.conf /etc/hosts $(HARBOR_ROOT)/etc/
	cp -L /etc/ssl/certs/ca-certificates.crt $(HARBOR_ROOT)/etc/ssl/certs/
	chroot $(HARBOR_ROOT) python3 -m venv /opt/harbor
	chroot $(HARBOR_ROOT) /opt/harbor/bin/pip install --quiet --no-cache-dir harbor==0.26.0
	install -m 755 environments/harbor $@

# An image that stands for the base image of Harbor's tasks, without Docker Hub. It has the Python of Debian 12, and the
# wheel of torch that is installed here.
harbor-base: .venv/installed docker-base
	folder=$$(mktemp -d) && debootstrap --variant=minbase --include=python3-pip,ca-certificates bookworm $$folder >/dev/null \
		&& rm $$folder/usr/lib/python3*/EXTERNALLY-MANAGED \
		&& cp -L /etc/ssl/certs/ca-certificates.crt $$folder/etc/ssl/certs/ \
		&& $(BIN)/pip download --quiet --no-deps --dest $$folder/srv/wheels $(PIP_OPTIONS) \
			torch==$$($(BIN)/python -c 'from importlib.metadata import version; print(version("torch"))') \
		&& tar -C $$folder -c . | docker import --change 'ENV PIP_FIND_LINKS=/srv/wheels PIP_CERT=/etc/ssl/certs/ca-certificates.crt' \
			- lmrbench-harbor >/dev/null && rm -rf $$folder

# Coding agents that `make test` runs if LMRBENCH_AGENTS names their folders. They lie outside of the checkout, which holds
# answers and is hidden from agents. Without npm, there is no Claude Code.
AGENTS ?= $(HOME)/.local/share/lmrbench-agents
agents:
	$(PYTHON) -m venv $(AGENTS)/mini-swe-agent
	$(AGENTS)/mini-swe-agent/bin/pip install --quiet $(PIP_OPTIONS) mini-swe-agent==2.4.6
	! command -v npm >/dev/null || npm install --silent --global --prefix $(AGENTS)/claude-code \
		--allow-scripts=@anthropic-ai/claude-code @anthropic-ai/claude-code@2.1.197

# OpenHands in a root of Debian 13, for --mount and as an image of Docker; needs root. Its command line asks for exactly
# Python 3.12, and runs with the 3.13 of Debian 13. The program in /usr/bin also runs beside an older C library.
OPENHANDS_ROOT ?= /opt/openhands
openhands-root:
	command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap >/dev/null; }
	debootstrap --variant=minbase --include=python3-pip,ca-certificates,git trixie $(OPENHANDS_ROOT) >/dev/null
	cp -L /etc/resolv.conf /etc/hosts $(OPENHANDS_ROOT)/etc/
	cp -L /etc/ssl/certs/ca-certificates.crt $(OPENHANDS_ROOT)/etc/ssl/certs/
	cp environments/openhands.txt $(OPENHANDS_ROOT)/tmp/
	chroot $(OPENHANDS_ROOT) python3 -m pip install --quiet --no-cache-dir --break-system-packages --root-user-action ignore \
		--ignore-requires-python --no-deps -r /tmp/openhands.txt
	install -m 755 environments/openhands $(OPENHANDS_ROOT)/usr/bin/openhands
	@echo 'tar -C $(OPENHANDS_ROOT) -c . | docker import - lmrbench-openhands makes an image of it'

# The lowest versions of direct dependencies that pyproject.toml allows, in a separate environment. Tests that need torch
# are skipped, because the wheel of its lower bound brings gigabytes of CUDA. uv does not read pip.conf: UV_DEFAULT_INDEX,
# UV_INDEX, UV_FIND_LINKS and SSL_CERT_FILE name other indexes and certificates.
LOWEST := .venv/lowest/bin
test-lowest: .venv/installed system
	$(BIN)/uv venv --quiet --seed --clear --python $(BIN)/python .venv/lowest
	echo 'torch; python_version < "0"' > .venv/lowest/without
	$(BIN)/uv pip install --quiet --python $(LOWEST)/python --resolution lowest-direct --override .venv/lowest/without \
		-e '.[docker,figures,real,texts]'
	$(BIN)/uv pip install --quiet --python $(LOWEST)/python axe-playwright-python hypothesis pytest pytest-xdist
	$(LOWEST)/pytest -n auto --dist worksteal -m "not slow and not docker"

# The tests on Python 3.13 or 3.14, in a root of the Debian release that has it. It is made once, in the user's cache. Needs
# root. Tests that need torch are skipped, as in `test-lowest`. TESTS are further arguments of pytest.
test-python:
	environments/test-python $(PYTHON) $(TESTS)

# verifiers and Inspect need different versions of openai, so its tests have an environment of their own.
test-verifiers: system
	$(PYTHON) -m venv .venv/verifiers
	.venv/verifiers/bin/pip install --quiet $(PIP_OPTIONS) -e '.[suite,verifiers]' pytest
	.venv/verifiers/bin/pytest tests/integrations/test_verifiers.py

clean:
	rm -rf .venv runs site dist
