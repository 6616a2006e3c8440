# Each target is one line that calls coursekit; all of them work without make too.

# The first Python on the PATH that is new enough; python3 itself says what to do where none is.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)
COURSEKIT = "$(PYTHON)" -m coursekit

DIR ?=
LAB_FLAGS ?=
ARGS ?=
NN ?=

# Of an error that coursekit has explained (exit code 2), make says nothing more.
EXPLAINED = || [ $$? -eq 2 ]

.DEFAULT_GOAL := help
.PHONY: help lab install test test-fast test-all test-nightly lint edit promote exercises badges build check progress grade doctor bench

help:           ## list these targets
	@sed -n 's/^\([a-z-]*\): *## /  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

lab:            ## open the course in JupyterLab (DIR=chapters for contributors; LAB_FLAGS go to JupyterLab)
	@$(COURSEKIT) lab $(if $(DIR),--dir "$(DIR)") $(LAB_FLAGS) $(EXPLAINED)

install:        ## install what the course needs, and open nothing (ARGS: more extras, such as cluster)
	@$(COURSEKIT) install $(ARGS)

test:           ## run the tests, every chapter and every solution (ARGS go to pytest: make test ARGS="-k scalar")
	@$(COURSEKIT) test $(ARGS)

test-fast:      ## run a part of every layer, in about a minute: after each edit
	@$(COURSEKIT) test --fast $(ARGS)

test-all:       ## what CI runs: linters, all wrong answers' hints, a browser, and PyTorch, which is installed for it
	@$(COURSEKIT) test --all $(ARGS)

test-nightly:   ## run what takes minutes to prove: attacks and honest notebooks by the dozen, every wrong answer
	@$(COURSEKIT) test --nightly $(ARGS)

lint:           ## run ruff and mypy, of the versions that pyproject.toml pins: for contributors
	@$(COURSEKIT) test tests/coursekit/test_lint.py $(ARGS)

edit:           ## edit a chapter as text in your editor; each save is run and promoted: make edit NN=02a (ARGS=--solution)
	@$(COURSEKIT) edit $(NN) $(ARGS) $(EXPLAINED)

promote:        ## bring what chapters and solutions export to its place in minilib/
	@$(COURSEKIT) promote $(ARGS)

exercises:      ## make exercises/ from solutions
	@$(COURSEKIT) exercises $(ARGS)

badges:         ## write the repository's address and links into all notebooks: make badges ARGS="--repository OWNER/NAME"
	@$(COURSEKIT) stamp $(ARGS)

build:          ## build your own library in mine/ from your answers in work/
	@$(COURSEKIT) build $(ARGS) $(EXPLAINED)

check:          ## grade your own saved exercises: make check NN=01
	@$(COURSEKIT) check $(NN) $(ARGS) || [ $$? -le 2 ]

progress:       ## show how far you are in each chapter
	@$(COURSEKIT) progress $(ARGS) $(EXPLAINED)

grade:          ## grade a folder of notebooks: make grade NN=01 ARGS="DIR --out DIR"
	@$(COURSEKIT) grade $(NN) $(ARGS) || [ $$? -eq 1 ]

doctor:         ## show what this machine has and what is missing
	@$(COURSEKIT) doctor $(ARGS) $(EXPLAINED)

bench:          ## measure against peers, into benchmarks/
	@$(COURSEKIT) bench $(ARGS)
