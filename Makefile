# `make` or `make help` lists the targets.
# `make test` is what has to pass before a change goes in; CI runs the same.

GO ?= go
LINT := bin/golangci-lint
# Mutants at a time: half of them wait for a server while the others are compiled.
AT_ONCE = $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

.DEFAULT_GOAL := help
.PHONY: help build test checks full busy-mutants unit test-race faults fmt vet lint cross oldest proto mutants fuzz model bench bench-smoke tidy ci

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the command line tool into bin/unalike
	$(GO) build -o bin/unalike ./cmd/unalike

test: ## Run every check: format, vet, lint, platforms, tests, race, mutants, model
	@scripts/summary $(MAKE) --no-print-directory checks

# What is checked. An archive without history has no commit, and then all mutants have their turn.
COMMIT = $(shell git rev-parse --short=12 HEAD 2>/dev/null)

# What the steps of make full do in another way than those of make test.
SIZE := quick
LONG :=
# No package takes ten minutes on a quiet machine, and some do beside other work.
TESTS = $(or $(LONG),-timeout=30m)
full: SIZE := full
full: LONG := -count=1 -timeout=60m
full: export UNALIKE_FULL := 1
full: export UNALIKE_SEEDS ?= 100
full: ## Run every check with all loops in full length, and the mutants twice beside a busy machine: hours
	@scripts/summary $(MAKE) --no-print-directory checks oldest busy-mutants SIZE=$(SIZE) LONG="$(LONG)"

oldest: ## Build, vet and test the library with the Go version in go.mod, which is the oldest that is supported
	@scripts/step "oldest Go" scripts/oldest

# One after the other, the cheap ones first: a mistake shows early, and tests that
# measure time do not share the machine with a compiler.
checks:
	@scripts/step "gofmt" scripts/format
	@scripts/step "go vet" $(GO) vet ./...
	@scripts/step "go.mod and go.sum" $(MAKE) --no-print-directory tidy
	@scripts/step "lint" $(MAKE) --no-print-directory lint
	@scripts/step "model" scripts/model $(SIZE)
	@scripts/step "platforms" scripts/cross $(SIZE)
	@scripts/step "servers for tests" scripts/servers
	@scripts/step "Kubernetes API server for tests" scripts/kubernetes
	@scripts/step "tests" $(GO) test $(TESTS) ./...
	@scripts/step "tests under the race detector" scripts/race $(TESTS)
	@scripts/step "tests of the fault suite" $(GO) test -C faults $(TESTS) ./...
	@$(if $(LONG),scripts/step "proto and what is generated from it" scripts/proto check)
	@$(if $(LONG),scripts/step "tests of the fault suite under the race detector" scripts/race -C faults $(LONG))
	@scripts/step "fault suite, $(if $(LONG),full,short) set" $(MAKE) --no-print-directory faults $(if $(LONG),,FAULTS=-short)
	@scripts/step "benchmarks, for a moment" $(MAKE) --no-print-directory bench-smoke
	@scripts/step "mutants$(if $(LONG),, whose turn it is)" $(MAKE) --no-print-directory mutants $(if $(LONG),,TURN=$(COMMIT))

# The loops leave the mutants a third of two cores.
busy-mutants: checks
	@scripts/step "mutants beside four busy loops" scripts/busy 4 $(MAKE) --no-print-directory mutants
	@scripts/step "mutants beside four busy loops, again" scripts/busy 4 $(MAKE) --no-print-directory mutants

unit: ## Run the tests alone
	$(GO) test ./...

test-race: ## Run the tests under the race detector
	@scripts/race

fmt: ## Rewrite the Go files in the project's format
fmt: $(LINT)
	$(LINT) fmt

vet: ## Run go vet
	$(GO) vet ./...

lint: ## Run golangci-lint, which is built from tools/go.mod on first use
lint: $(LINT)
	$(LINT) run --allow-parallel-runners ./...
	cd benchmarks/peers && ../../$(LINT) run --allow-parallel-runners ./...
	cd faults && ../$(LINT) run --allow-parallel-runners ./...

proto: ## Check proto/ and make Go of it, with buf, which is built from proto/tools on first use
	@scripts/proto

cross: ## Build and vet for every supported platform
	@scripts/cross full

# The options of faults: FAULTS=-short is eight minutes of it, FAULTS="-backend etcd kill-loop" one scenario. See
# bin/faults list. Three scenarios at a time suit the full set on two processors: they mostly wait.
FAULTS := -parallel 4
faults: ## Run the fault suite on real servers: an hour and a half; eight minutes with FAULTS=-short
	@scripts/servers
	@scripts/kubernetes
	$(GO) build -C faults -ldflags="-X main.commit=$$(git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null)" -o ../bin/faults .
	bin/faults run -results bin/faults.jsonl -keep bin/faults-failed $(FAULTS)

mutants: ## Break the code in known ways; a test must notice each
	UNALIKE_MUTANTS=1 UNALIKE_MUTANTS_TURN=$(TURN) $(GO) test -C internal/mutants -count=1 -timeout=60m -parallel=$(AT_ONCE) -run=TestMutants

fuzz: ## Let each fuzz test search for FUZZTIME, 10s by default
	@scripts/fuzz

model: ## Check the protocol's model with spin at its large bounds: minutes, up to 8 GiB
	@scripts/model full

bench: ## Run the benchmarks, a quarter of an hour, and write benchmarks/results
	@scripts/bench

bench-smoke: ## Run each benchmark for a moment
	@scripts/bench smoke

tidy: ## Check that the files go.mod and go.sum are complete and unchanged
	$(GO) mod tidy -diff
	$(GO) mod verify
	$(GO) mod tidy -C benchmarks/peers -diff
	$(GO) mod tidy -C faults -diff
	$(GO) mod tidy -C internal/testserver/kubetest/apiserver -diff
	$(GO) mod tidy -C proto/tools -diff

ci: ## Do what CI does
	@.ci/run

$(LINT): tools/go.mod tools/go.sum
	$(GO) build -C tools -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@
