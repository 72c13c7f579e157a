# `make` or `make help` lists the targets.
# `make test` is what has to pass before a change goes in; CI runs the same.

GO ?= go
LINT := bin/golangci-lint

.DEFAULT_GOAL := help
.PHONY: help build test unit test-race fmt vet lint cross mutants model bench bench-smoke tidy ci

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the command line tool into bin/unalike
	$(GO) build -o bin/unalike ./cmd/unalike

# One after the other, the cheap ones first: a mistake shows early, and tests that
# measure time do not share the machine with a compiler.
test: ## Run every check: format, vet, lint, all platforms, tests, race, mutants, model
	@scripts/step "gofmt" scripts/format
	@scripts/step "go vet" $(GO) vet ./...
	@scripts/step "go.mod and go.sum" $(MAKE) --no-print-directory tidy
	@scripts/step "lint" $(MAKE) --no-print-directory lint
	@scripts/step "model" scripts/model quick
	@scripts/step "all platforms" scripts/cross
	@scripts/step "servers for tests" scripts/servers
	@scripts/step "tests" $(GO) test ./...
	@scripts/step "tests under the race detector" scripts/race
	@scripts/step "benchmarks, for a moment" $(MAKE) --no-print-directory bench-smoke
	@scripts/step "mutants" $(MAKE) --no-print-directory mutants

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

cross: ## Build and vet for every supported platform
	@scripts/cross

mutants: ## Break the code in known ways; a test must notice each
	UNALIKE_MUTANTS=1 $(GO) test -count=1 -timeout 20m ./internal/mutants

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

ci: ## Do what CI does
	@.ci/run

$(LINT): tools/go.mod tools/go.sum
	$(GO) build -C tools -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@
