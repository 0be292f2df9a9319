# make run serves the default model with the shipped policies; make test is what CI runs.
# What they need is installed by make setup and, for the tests of the SDKs, make toolchains: quick when nothing is missing.

GO ?= go
BIN := bin/sluice
LISTEN ?= 127.0.0.1:8080
ADMIN ?= 127.0.0.1:9090
# wasmtime: with the second runtime for policies, which needs a C compiler.
TAGS ?=

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: run test test-wasmtime toolchains setup setup-cuda gpu-check build policies generate check fmt fuzz bench peers bench-serving clients clean help FORCE

run: build setup ## serve SmolLM2-135M with the four shipped policies
	@exec $(BIN) serve --listen $(LISTEN) --admin $(ADMIN)

build: $(BIN) ## bin/sluice

$(BIN): FORCE
	@test -e $@ || echo "building $@, half a minute the first time"
	@$(GO) build -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o $@ ./cmd/sluice

setup: build ## fetch libraries, model and the tests' clients into SLUICE_CACHE, once
	@scripts/setup.sh $(SETUP_FLAGS)

setup-cuda: build ## set-up with libraries that compute on NVIDIA's GPUs too (143 MB)
	@scripts/setup.sh --cuda

gpu-check: build ## on a machine with an NVIDIA GPU: the decode loop's exactness and speed there (GPU_CHECK_FLAGS goes to bench/gpucheck)
	@scripts/gpu-check.sh $(GPU_CHECK_FLAGS)

toolchains: ## install what builds the SDKs beside Go: clang, Rust's WebAssembly target, the AssemblyScript compiler
	@scripts/toolchains.sh

test: SETUP_FLAGS := --with-clients
test: export SLUICE_REQUIRE_MODEL := 1
test: export SLUICE_REQUIRE_SDKS := 1
test: build setup toolchains check ## everything that must hold at every commit
	$(GO) test -timeout 20m $$($(GO) list ./... | grep -v /test/e2e)
	$(GO) test -timeout 20m ./test/e2e
	$(GO) test -race -timeout 20m ./host/... ./plugins/... ./gpu/sim/...
	$(MAKE) test-wasmtime

test-wasmtime: ## policies on the second runtime: it must do what the first does
	$(GO) vet -tags wasmtime ./plugins/... ./cmd/...
	$(GO) test -tags wasmtime -timeout 20m ./plugins/...
	$(GO) test -tags wasmtime -run 'TestScripts/(runtime|version)$$' ./cmd/sluice

check: ## formatting, vet, and that nothing generated is stale
	@test -z "$$(gofmt -l .)" || { echo "not formatted (run make fmt):"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) run ./plugins/abi/gen --check
	$(GO) run ./policies/build --check

generate: ## write what follows from plugins/abi/abi.yaml
	$(GO) run ./plugins/abi/gen

policies: ## build the shipped policies' .wasm where their sources changed
	@$(GO) run ./policies/build

fmt: ## format the Go code
	gofmt -w .

fuzz: ## a minute for every fuzz target
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime 60s $$pkg || exit 1; done; done

bench: build setup ## the figures of docs/BENCHMARKS.md
	bench/run.sh

peers: setup ## build llama-server and install vLLM (6 GB), to compare with
	@scripts/peers.sh

bench-serving: build peers ## Sluice beside llama-server and vLLM as servers under load, about 12 minutes
	$(GO) run ./bench/serving $(SERVING_FLAGS)

clients: setup ## test with the load tools of others (14 GB with vLLM), about 5 minutes once they are installed
	@scripts/load-tools.sh
	SLUICE_LOAD_TOOLS=1 $(GO) test -count=1 -timeout 30m ./test/loadtools

clean: ## remove what was built
	rm -rf bin

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16
