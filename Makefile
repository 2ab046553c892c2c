# The verbs of this repository; CMakeLists.txt says how things are built.
# `make help` lists them.

# The build folder, the configuration and where `install` goes.
B = build
CMAKE_FLAGS =
PREFIX = /usr/local

# Options of tools/mutants.py for check-mutants: --count 300 --seed 1.
MUTANTS =

# Releases for check-pytorch (empty: all) and check-torch (empty: three).
VERSIONS =

# What `make run` shows: a trace's path has to be without blanks.
RUN_TRACES = $(sort $(wildcard data/traces/*.trace.zst))
# The command, and the libraries that its verbs bring into other programs.
RUN_TARGETS = larder_command larder_shared larder_lab_shared
RUN_SUMMARY_TRACE = $(firstword $(RUN_TRACES))

MAKEFLAGS += --no-print-directory

# One job for each processor, unless the user gave make a -j of their own,
# which then goes down to the build.
JOBS := $(shell nproc 2>/dev/null || echo 2)
BUILD = cmake --build $(B) $(if $(filter -j%,$(MAKEFLAGS)),,--parallel $(JOBS))
# One more for tests, which wait for timers and for other processes.
TEST_JOBS := $(shell expr $(JOBS) + 1)
CTEST = ctest --test-dir $(B) --output-on-failure --parallel $(TEST_JOBS)

.PHONY: all help setup configure build run test check-debug check-mutants \
        coverage check-asan check-clang check-tsan check-long check-fuzz check-gpu \
        check-fit check-exec check-stack check-pytorch check-torch bench bench-report \
        bench-landscape bench-rivals figures app site check-app \
        wheel deb install uninstall lint manuals format clean

all: build

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' \
	    Makefile

setup: ## check for the packages needed; as root, install what is missing
	@tools/setup.sh

configure: setup
	@cmake -S . -B $(B) $(CMAKE_FLAGS) >/dev/null

build: configure ## build the libraries, the command and the tests (default)
	+@$(BUILD)

run: configure ## replay the bundled traces, run an experiment of the lab
	+@$(BUILD) --target $(RUN_TARGETS)
	$(B)/larder replay --jobs 1 --repeat 5 --policy pytorch $(RUN_TRACES)
	$(B)/larder replay --jobs 1 --repeat 5 --policy larder $(RUN_TRACES)
	$(B)/larder replay --policy pytorch --summary $(RUN_SUMMARY_TRACE)
	$(B)/larder lab run --device sim:24GiB,backing=none move_and_reuse
	@printf '\nThe command is %s; to call it larder:\n' "$(B)/larder"
	@printf '  export PATH="%s:$$PATH"\n' "$(abspath $(B))"

test: build ## build, then run every test
	@tools/setup.sh --tests
	@$(CTEST)

check-debug: ## run the tests with all of the library's assertions
	+@$(MAKE) test B=build-debug CMAKE_FLAGS="$(CMAKE_FLAGS) \
	    -DLARDER_ASSERT_LEVEL=2"

check-mutants: ## plant small bugs, list those that no test notices: MUTANTS
	+@$(MAKE) build B=build-debug CMAKE_FLAGS="$(CMAKE_FLAGS) \
	    -DLARDER_ASSERT_LEVEL=2"
	@nice tools/mutants.py build-debug --sanitized $(MUTANTS)

coverage: ## say which part of the library's lines the tests run
	+@$(MAKE) build B=build-coverage CMAKE_FLAGS="$(CMAKE_FLAGS) \
	    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=--coverage"
	-@ctest --test-dir build-coverage --parallel $(JOBS) --output-on-failure \
	    -L "unit|golden|model|fault|stress|snapshot|report|fuzz|cli|lab"
	@tools/coverage.py build-coverage

check-asan: ## run the tests under the address and undefined-behaviour sanitizers
	+@$(MAKE) test B=build-asan CMAKE_FLAGS="$(CMAKE_FLAGS) \
	    -DLARDER_SANITIZE=address,undefined -DLARDER_ASSERT_LEVEL=2"

check-clang: ## the same under clang's, which know offsets from null pointers
	+@$(MAKE) test B=build-clang CMAKE_FLAGS="$(CMAKE_FLAGS) \
	    -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
	    -DLARDER_SANITIZE=address,undefined -DLARDER_ASSERT_LEVEL=2"

check-tsan: ## run the tests under the thread sanitizer
	+@$(MAKE) test B=build-tsan CMAKE_FLAGS="$(CMAKE_FLAGS) \
	    -DLARDER_SANITIZE=thread -DLARDER_ASSERT_LEVEL=1"

check-long: build ## run what takes minutes: all golden files, model, fuzzing
	@tools/check_long.sh $(B)

check-fuzz: setup ## fuzz with clang's libFuzzer: FUZZ_SECONDS (600) in all
	@tools/check_fuzz.sh build-fuzz

check-gpu: build ## run what needs a GPU: tests on cuda:0, prices of its driver
	@tools/check_gpu.sh $(B) || [ $$? -eq 77 ]

check-fit: build ## run `larder run` under a CPU-only PyTorch
	@tools/check_fit.sh $(B) || [ $$? -eq 77 ]

check-stack: build ## run the stack people install on simulated cards, under `larder run` too
	@tools/check_stack.sh $(B)

check-exec: build ## run PyTorch's CUDA wheel and CuPy on simulated GPUs (fetched)
	@tools/check_exec.sh $(B) || [ $$? -eq 77 ]

check-pytorch: build ## compare with the libraries of PyTorch's releases (fetched)
	@tools/check_pytorch.sh $(B) $(VERSIONS) || [ $$? -eq 77 ]

check-torch: build ## run PyTorch's own builds under Larder, on a simulated GPU (fetched)
	@tools/check_torch.sh $(B) $(VERSIONS) || [ $$? -eq 77 ]

bench: build ## measure the allocator and its replays
	$(B)/bench/bench_alloc
	$(B)/bench/bench_fit
	bench/replay.sh $(B)/larder

bench-report: build ## the same as a page with plots: build/bench-report
	bench/report.py --build $(B)

bench-rivals: build ## PyTorch's, RMM's and CuPy's allocators beside ours (fetched)
	@bench/rivals.py $(B) || [ $$? -eq 77 ]

figures: build ## the tables of README.md and docs/POLICY.md anew
	bench/figures.py $(B)/larder

# What to look at; make bench-landscape PROGRAMS="a.trace folder" for others, as
# tools/make_patterns.py and tools/vary_trace.py make them.
PROGRAMS = $(B)/workloads

bench-landscape: build ## replay programs on all sizes of devices: docs/figures
	@mkdir -p $(B)/workloads
	@for seed in 301 302 303 304 305 306; do \
	    bench/make_workload.py all $$seed -o $(B)/workloads/; done
	bench/landscape.py --larder $(B)/larder --out docs/figures \
	    --into docs/POLICY.md $(PROGRAMS)

install: build ## install below PREFIX (/usr/local); honours DESTDIR
	cmake --install $(B) --prefix "$(PREFIX)"
	@cp $(B)/install_manifest.txt $(B)/installed.txt

uninstall: ## remove what the last `install` put there
	@tools/uninstall.sh $(B)/installed.txt

wheel: configure ## make a Python package for other systems too, in dist/, and try it
	@tools/make_wheel.sh dist

deb: configure ## make a Debian package, in dist/
	@tools/make_deb.sh build-deb dist

lint: configure ## run clang-format, clang-tidy, cppcheck and shellcheck
	@tools/lint.sh $(B)

app: configure ## make the page that analyses snapshots in a browser: build/app.html
	+@$(BUILD) --target larder_command
	@tools/make_app.sh $(B) $(JOBS)

site: app ## make a website around that page, in site/
	@tools/make_site.py $(B) site

check-app: build app ## try that page in Chromium: the same as the command, hostile files
	python3 -B tests/view/test_app.py $(B)/larder

manuals: build ## put the options of the command into its manual pages
	@tools/make_manuals.py $(B)/larder

format: ## lay out the C sources
	@tools/list_sources.sh | xargs clang-format -i

clean: ## remove the build folders
	rm -rf dist site build build-debug build-asan build-clang build-tsan build-fuzz build-deb build-ci
