# The front door. CMake does the work; scripts/build turns its commonest failures into one line of advice.
#   JOBS=N      parallel jobs of compiling and testing (all processors)
#   PREFIX=DIR  where `make install` installs (/usr/local)

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

export JOBS

.PHONY: all build deps deps-demo demo test test-asan test-tsan fuzz bench format check clean install

# Targets run one after the other in the order they are written, whatever -j says: packages before builds, and never
# two builds in one folder. Parallel work happens inside each of them.
.NOTPARALLEL:

all: build

build:
	scripts/build release

# These ask for nothing when the packages are there already.
deps:
	scripts/install-deps
deps-demo:
	scripts/install-deps demo

# From a fresh clone: packages, the programs, and a sheet of pictures by the small model that comes with them.
demo: deps-demo
	scripts/build demo ggml-demo sd-cli
	build/bin/ggml-demo
	scripts/demo-sheet build/bin/sd-cli build/demo

test: deps build
	ctest --preset release -j $(JOBS)

test-asan: deps
	scripts/build asan
	ctest --preset asan -j $(JOBS)

# Tests of threads under ThreadSanitizer. Some kernels place memory where it cannot follow, unless told not to.
test-tsan: deps
	scripts/build tsan thread_tests
	$$(setarch -R true 2>/dev/null && echo setarch -R) ctest --preset tsan

# Runs each fuzzer for FUZZ_SECONDS over its seed corpus.
FUZZ_SECONDS ?= 60
fuzz: deps
	scripts/build fuzz fuzzers
	scripts/run-fuzzers build-fuzz $(FUZZ_SECONDS)

bench: deps build
	scripts/run-benchmarks build

format:
	scripts/format

check:
	scripts/format --check
	scripts/check-sizes
	scripts/check-includes
	scripts/check-names
	scripts/check-reference
	scripts/check-words

install:
	scripts/build demo ggml stable-diffusion sd-cli
	scripts/install "$(PREFIX)"

clean:
	rm -rf build build-debug build-asan build-tsan build-fuzz
