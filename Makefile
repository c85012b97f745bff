# Everything a newcomer needs: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-faults soak docs gallery lint bench data clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(STAMP)  ## play the embedded benchmark: FedAvg, what could be learnt, a balanced game, and the paper's variant
	$(BIN)/flgames play --benchmark colored-digits --variant f-fl-games-smooth --schedule simultaneous --against fedavg,no-shortcut-oracle,balanced --seeds 3

test: lint  ## lint, types and tests
	$(BIN)/python -m pytest

test-faults: $(STAMP)  ## kill parts of real federations, and see what becomes of the game: up to 12 minutes
	$(BIN)/python -m pytest -n 2 --dist loadgroup faults $(FAULTS)

soak: $(STAMP)  ## 2,000 rounds over NVFlare, undisturbed and with sites that are killed: memory, what is left, weights; 15 minutes
	$(BIN)/python -m faults.soak

gallery: $(STAMP)  ## the reports that the documentation shows, into build/gallery; it plays a game on drawn scans, which takes long
	$(BIN)/python site_gallery.py

docs: $(STAMP)  ## build the documentation site into build/site; a warning is an error
	$(BIN)/python site_gallery.py --stored
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

lint: $(STAMP)  ## style, types, layers, and what nobody uses
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/vulture

data: $(STAMP)  ## fetch the images of all benchmarks (tests of those that are missing are skipped, and say so)
	$(BIN)/flgames data fetch --all

bench: $(STAMP)  ## a round's time beside its matrix products
	$(BIN)/flgames bench

clean:
	rm -rf $(VENV) build *.egg-info
