# The front door. CMake does the work; every target is one line you could type yourself.

JOBS ?= $(shell nproc)

.PHONY: all build deps demo test test-asan fuzz bench format check clean install

all: build

build/build.ninja: CMakePresets.json
	cmake --preset release

build: build/build.ninja
	cmake --build --preset release -j $(JOBS)

# Asks for nothing when the packages are there already.
deps:
	scripts/install-deps

# From a fresh clone: packages, build, and a program that uses the runtime end to end.
demo: deps build
	build/bin/ggml-demo

test: deps build
	ctest --preset release -j $(JOBS)

test-asan: deps
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

# Runs each fuzzer for FUZZ_SECONDS over its seed corpus.
FUZZ_SECONDS ?= 60
fuzz: deps
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
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
	scripts/check-words

install: build
	cmake --install build

clean:
	rm -rf build build-debug build-asan build-fuzz
