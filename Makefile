# Two commands do everything: `make demo` and `make test`.
# TORCH_INDEX: wheel index that has the CPU build of PyTorch, e.g. the one its install page names for "CPU"; not needed where pip is set up for it.
# LOCK: envs/cpu.txt (default) or envs/gpu.txt.

PYTHON ?= python3
LOCK ?= envs/cpu.txt
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: demo test env lint clean

demo: env
	snakemake --profile local all
	python scripts/print_report.py

test: env
	python -m pytest

env: .venv/.installed
	@envs/bubblewrap.sh

.venv/.installed: $(LOCK) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than Python 3.11; give one with make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	python -m pip install --quiet --upgrade pip
	python -m pip install --quiet $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -r $(LOCK)
	python -m pip install --quiet --no-deps -e .
	@touch $@

lint: env
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile rules
	snakemake --lint
