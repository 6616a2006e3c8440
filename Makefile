# Each target is one line that calls coursekit; all of them work without make too.

# The first Python on the PATH that is new enough; python3 itself says what to do where none is.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)
COURSEKIT = "$(PYTHON)" -m coursekit

DIR ?=
LAB_FLAGS ?=
ARGS ?=
NN ?=

.DEFAULT_GOAL := help
.PHONY: help lab test test-fast lint test-parity test-browser test-nightly gpu-test gpu-bench edit promote exercises build check progress grade release doctor badges links minutes bench

help:           ## list these targets
	@sed -n 's/^\([a-z-]*\): *## /  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

lab:            ## open the course in JupyterLab (DIR=chapters for contributors; LAB_FLAGS go to JupyterLab)
	@$(COURSEKIT) lab $(if $(DIR),--dir "$(DIR)") $(LAB_FLAGS)

test:           ## run the tests, every chapter and every solution (ARGS go to pytest: make test ARGS="-k scalar")
	@$(COURSEKIT) test $(ARGS)

test-fast:      ## run a part of every layer, in about a minute: after each edit
	@$(COURSEKIT) test --fast $(ARGS)

lint:           ## run ruff and mypy, of the versions that pyproject.toml pins: for contributors
	@$(COURSEKIT) test --only ruff --only format --only mypy $(ARGS)

test-parity:    ## compare with PyTorch, which is installed for it (skipped where it cannot be)
	@$(COURSEKIT) test --only parity $(ARGS)

test-browser:   ## open a chapter in a headless Chromium (skipped where it is missing)
	@$(COURSEKIT) test --only browser $(ARGS)

test-nightly:   ## run what takes minutes to prove: attacks and honest notebooks by the dozen, every wrong answer
	@$(COURSEKIT) test --only nightly $(ARGS)

gpu-test:       ## run the kernels on a GPU, through CuPy, and compare with the simulator
	@$(COURSEKIT) test --only gpu $(ARGS)

gpu-bench:      ## measure kernels and training on a GPU beside CuPy's and PyTorch's, into benchmarks/
	@$(COURSEKIT) bench gpu gpu_tensors $(ARGS)

edit:           ## edit a chapter as text in your editor; each save is run and promoted: make edit NN=02a (ARGS=--solution)
	@$(COURSEKIT) edit $(NN) $(ARGS)

promote:        ## bring what chapters and solutions export to its place in minilib/
	@$(COURSEKIT) promote $(ARGS)

exercises:      ## make exercises/ from solutions
	@$(COURSEKIT) exercises $(ARGS)

build:          ## build your own library in mine/ from your answers in work/
	@$(COURSEKIT) build $(ARGS)

check:          ## grade your own saved exercises: make check NN=01
	@$(COURSEKIT) check $(NN) $(ARGS) || [ $$? -eq 1 ]

progress:       ## show how far you are in each chapter
	@$(COURSEKIT) progress $(ARGS)

grade:          ## grade a folder of notebooks: make grade NN=01 ARGS="DIR --out DIR"
	@$(COURSEKIT) grade $(NN) $(ARGS) || [ $$? -eq 1 ]

release:        ## make the bundle for students: make release ARGS="--to DIR"
	@$(COURSEKIT) release $(ARGS)

doctor:         ## show what this machine has and what is missing
	@$(COURSEKIT) doctor $(ARGS)

badges:         ## write the repository's address into the README and the chapters: ARGS="--repository OWNER/NAME"
	@$(COURSEKIT) badges $(ARGS)

links:          ## write the links between lessons, exercises and the next lesson
	@$(COURSEKIT) links $(ARGS)

minutes:        ## say how long each part takes, by one rule
	@$(COURSEKIT) minutes $(ARGS)

bench:          ## measure against peers, into benchmarks/
	@$(COURSEKIT) bench $(ARGS)
