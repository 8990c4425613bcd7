# The commands of everyday work. `make help` lists them.

.DEFAULT_GOAL := help
.PHONY: help quickstart build test test-all bench drill soak lint docs dist publish-check clean toolchain

CARGO ?= $(shell command -v cargo 2>/dev/null || ls "$$HOME/.cargo/bin/cargo" 2>/dev/null)
TARGET := $(or $(CARGO_TARGET_DIR),target)
STACKMARK := $(TARGET)/release/stackmark

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

quickstart: build ## build, then measure TPC-C on SQLite, directly and through HTTP; writes an HTML report
	$(STACKMARK) quickstart

build: toolchain ## build target/release/stackmark
	"$(CARGO)" build --release --locked --package stackmark --bin stackmark

test: toolchain ## set up what the tests need, then run all but the extended ones
	CARGO="$(CARGO)" scripts/test.sh $(TESTS)

test-all: toolchain ## the same with the extended tests; TESTS=saga runs those whose names contain saga
	CARGO="$(CARGO)" NEXTEST_PROFILE=all scripts/test.sh $(TESTS)

bench: toolchain ## what the harness itself costs, and how it stands beside others: half an hour, on an idle machine
	"$(CARGO)" build --release --locked --workspace --bins
	@set -e; for bench in $(basename $(notdir $(wildcard benches/src/bin/*))); do \
	  printf '\n== %s\n' "$$bench"; "$(TARGET)/release/$$bench"; done

drill: build ## 346 faults and 68 power cuts under load: is the data right? half an hour; needs PostgreSQL, MariaDB, Kafka, Go; root for power cuts
	scripts/drill.sh "$(STACKMARK)"

soak: toolchain ## stress test of five minutes for each server: does it still answer, and has its memory grown?
	STACKMARK_SOAK_S=300 "$(CARGO)" test --release --locked --workspace --test survive languages -- --nocapture

lint: toolchain ## formatting, lints, links in the documentation of the code, and rules about the sources
	"$(CARGO)" fmt --all --check
	"$(CARGO)" clippy --profile ci --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" "$(CARGO)" doc --profile ci --workspace --no-deps --locked
	scripts/servers.sh lint
	"$(CARGO)" test --profile ci --workspace --locked --test rules -- --format terse sources:: edges:: statement_files::

docs: toolchain ## the documentation as a book, in target/book, and that of the code, in target/doc
	CARGO="$(CARGO)" scripts/docs.sh
	"$(CARGO)" doc --release --workspace --no-deps --locked
	@echo "open $(TARGET)/doc/stackmark/index.html"

dist: build ## what users install, in target/dist: a tarball and a Debian package
	scripts/dist.sh "$(STACKMARK)" "$(TARGET)/dist"

publish-check: toolchain ## package all crates and build them from their packages, as a registry would take them; nothing is uploaded
	"$(CARGO)" publish --workspace --dry-run --locked

clean: toolchain ## remove what was built; results stay
	"$(CARGO)" clean
	rm -rf tests/browser/node_modules

toolchain:
	@test -n "$(CARGO)" || { \
	  echo "error: cargo was not found" >&2; \
	  echo "  Rust 1.95 or newer is needed, and nothing else but a C compiler: https://rustup.rs" >&2; \
	  echo "hint: once rustup is installed, \`source ~/.cargo/env\` puts cargo on the path" >&2; \
	  exit 2; }
	@command -v cc >/dev/null || { \
	  echo "error: no C compiler (cc) was found; SQLite is compiled in" >&2; \
	  echo "hint: on Debian and Ubuntu \`apt-get install gcc libc6-dev\`" >&2; \
	  exit 2; }
