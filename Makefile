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

# The small whole run comes first: it takes as long as all other tests together, which the second process works on meanwhile.
test: env
	OMP_NUM_THREADS=1 python -m pytest -n 2 --dist loadfile tests/workflow/test_small_run.py tests

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
