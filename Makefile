# `make` or `make help` lists the targets. Three tiers: `make test` before you ask anybody, `make check` before a change
# goes in (CI runs it), `make full` before a release.

GO ?= go
LINT := bin/golangci-lint
# Frozen mutants at a time: half of them wait for a server while the others are compiled.
AT_ONCE = $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

.DEFAULT_GOAL := help
.PHONY: help build test check rest full left-out shortcover unit test-race faults fmt vet lint cross oldest proto mutants fuzz model bench bench-quick bench-smoke pictures tidy ci
# A step after the other, however make is called: what measures time does not share the machine with a compiler.
.NOTPARALLEL:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the command line tool into bin/unalike
	$(GO) build -o bin/unalike ./cmd/unalike

# A step is a target of its own: with -k a step that fails does not hide the others.
STEPS = @scripts/summary $(MAKE) --no-print-directory -k
TEST := step-format step-servers step-test
REST := step-tidy step-lint step-platforms step-model step-browser step-kubernetes step-heavy step-race step-mutants step-faults-test step-faults step-deploy step-bench
.PHONY: $(TEST) $(REST) step-proto step-oldest step-faults-race step-busy-mutants

test: ## Run the tests on real servers, and look at the format: five minutes on two cores
	$(STEPS) $(TEST)

check: ## Do what CI does: make test, and then the race detector, lint, platforms, model, Kubernetes, the fault suite's short set
	$(STEPS) $(TEST) $(REST)

rest: ## Do what make check does beside make test
	$(STEPS) $(REST)

# What the steps of make full do in another way than those of make check.
SIZE := quick
LONG :=
MUTANTS := -for 5m
FAULTSET := -short
# No package takes ten minutes on a quiet machine, and some do beside other work.
TIMEOUT = $(or $(LONG),-timeout=30m)
full: ## Run every check in full length, and all mutants, also beside a busy machine: hours
	UNALIKE_FULL=1 UNALIKE_SEEDS=$${UNALIKE_SEEDS:-100} scripts/summary $(MAKE) --no-print-directory -k SIZE=full LONG="-timeout=60m" FAULTSET= MUTANTS= \
		$(TEST) $(REST) step-proto step-oldest step-faults-race step-busy-mutants

# What waits costs nothing: many tests side by side. In CI nothing comes from the cache of an earlier run.
FRESH := $(if $(or $(UNALIKE_STRICT),$(LONG)),-count=1)
TESTRUN = $(GO) run ./internal/testrun
# What a debugger needs takes longer to link than all the rest.
LINK := -ldflags='-s -w'
# Those that take longest begin first.
PACKAGES := ./coord/postgres ./coord/zk ./coord/mysql ./cmd/unalike ./...

step-format: # test: a file that gofmt would change
	@scripts/step "gofmt" scripts/format
step-servers: # test: installs what is missing, where it can
	@scripts/step "servers for tests" scripts/servers
step-test: # test: everything that a test finds in minutes, and go vet's
	@scripts/step "tests" $(TESTRUN) -rule internal/testrun/slow.tsv -- $(LINK) -short $(FRESH) -p 4 -parallel 16 -timeout=30m $(PACKAGES)
step-tidy: # check: a go.mod or go.sum that is not complete
	@scripts/step "go.mod and go.sum" $(MAKE) --no-print-directory tidy
step-lint: # check: what .golangci.yml names
	@scripts/step "lint" $(MAKE) --no-print-directory lint
step-platforms: # check: what does not compile elsewhere
	@scripts/step "platforms" scripts/cross $(SIZE)
step-model: # check: a protocol that breaks its promise; only if the model has changed
	@scripts/step "model" scripts/model $(SIZE)
step-browser: # check: what a real browser makes of the service's page
	@scripts/step "the page in a browser" scripts/browser $(LINK) $(FRESH) $(TIMEOUT)
step-kubernetes: # check: for the next step
	@scripts/step "Kubernetes API server for tests" scripts/kubernetes
# Packages with tests that call fulltest.Heavy.
HEAVY = $(sort $(dir $(shell grep -rlE '^func Test[A-Za-z_]*Heavy\b' --include='*_test.go' coord segment cmd)))
step-heavy: # check: failures of a back end or a service that many processes want more from than it has
	@scripts/step "tests that need the machine" $(TESTRUN) -- $(LINK) $(FRESH) -run 'Heavy$$' -p 2 -parallel 4 $(TIMEOUT) $(addprefix ./,$(HEAVY))
step-race: # check: data races, and what -short leaves out
	@scripts/step "tests under the race detector, also those that take long" scripts/race $(LINK) $(FRESH) -p 3 -parallel 8 $(TIMEOUT) $(PACKAGES)
step-faults-test: # check: mistakes of the fault suite itself
	@scripts/step "tests of the fault suite" $(TESTRUN) -C faults -- $(LINK) $(FRESH) $(TIMEOUT) ./...
step-faults: # check: duplicates, and generators that do not come back, on real servers in trouble
	@scripts/step "fault suite, $(or $(FAULTSET),full set)" $(MAKE) --no-print-directory faults FAULTS=$(or $(FAULTSET),"-parallel 4")
step-deploy: # check: an image, units, manifests, a chart and a compose file that nobody could run
	@scripts/step "what deploy has" $(TESTRUN) -C deploy/tools -- $(LINK) $(FRESH) $(TIMEOUT) ./...
step-bench: # check: benchmarks that do not build or run
	@scripts/step "benchmarks, for a moment" $(MAKE) --no-print-directory bench-smoke
step-proto:
	@scripts/step "proto and what is generated from it" scripts/proto check
step-oldest:
	@scripts/step "oldest Go" scripts/oldest
step-faults-race:
	@scripts/step "tests of the fault suite under the race detector" scripts/race -C faults $(TIMEOUT)
step-mutants: # check: tests that notice nothing; of files that have changed, then of others, for some minutes
	@scripts/step "mutants" $(GO) run ./internal/mutants $(MUTANTS)
step-busy-mutants: # the loops leave the mutants a third of two cores
	@scripts/step "mutants beside four busy loops" scripts/busy 4 $(GO) run ./internal/mutants

left-out: ## List the tests that make test leaves out, and why
	@grep -rnE 'fulltest\.Long\(|testing\.Short\(\)' --include='*.go' . | grep -v 'fulltest/fulltest'

shortcover: ## Compare make test with all tests: how many run, and the coverage of each package; half an hour
	@scripts/shortcover

oldest: ## Build, vet and test the library with the Go version in go.mod, which is the oldest that is supported
	@scripts/step "oldest Go" scripts/oldest

unit: ## Run the tests alone, also those that take long
	$(TESTRUN) -- -p 4 -parallel 16 $(TIMEOUT) ./...

test-race: ## Run the tests under the race detector
	@scripts/race -p 2 -parallel 8 $(TIMEOUT)

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
	cd server/browser && ../../$(LINT) run --allow-parallel-runners ./...
	cd deploy/tools && ../../$(LINT) run --allow-parallel-runners ./...

proto: ## Check proto/ and make Go of it, with buf, which is built from proto/tools on first use
	@scripts/proto

cross: ## Build and vet for every supported platform
	@scripts/cross full

# The options of faults: FAULTS=-short is ten minutes of it, FAULTS="-backend etcd kill-loop" one scenario. See
# bin/faults list. Three scenarios at a time suit the full set on two processors: they mostly wait.
FAULTS := -parallel 4
faults: ## Run the fault suite on real servers: up to an hour and a half; ten minutes with FAULTS=-short
	@scripts/servers
	@scripts/kubernetes
	$(GO) build -C faults -ldflags="-X main.commit=$$(git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null)" -o ../bin/faults .
	bin/faults run -results bin/faults.jsonl -keep bin/faults-failed $(FAULTS)

mutants: ## Break the code in known ways, and demand that the test named for each notices: minutes
	$(GO) run ./internal/mutants

fuzz: ## Let each fuzz test search for FUZZTIME, 10s by default
	@scripts/fuzz

model: ## Check the protocol's model with spin at its large bounds: minutes, up to 8 GiB
	@scripts/model full

bench-quick: ## Compare Next with bwmarrin/snowflake's in a wide layout: 15 seconds
	$(GO) test -C benchmarks/peers -run '^$$' -bench '^BenchmarkNext$$/41-4-18/(unalike|bwmarrin)/=[12]$$' -benchtime 400ms

bench: ## Run the benchmarks, some 25 minutes, and write benchmarks/results
	@scripts/bench

bench-smoke: ## Run each benchmark for a moment
	@scripts/bench smoke

pictures: ## Make the pictures of the service's page in docs/images, with chromium: two minutes; look at them then
	@scripts/need chromium
	$(GO) run -C server/browser . ../../docs/images

tidy: ## Check that the files go.mod and go.sum are complete and unchanged
	$(GO) mod tidy -diff
	$(GO) mod verify
	$(GO) mod tidy -C benchmarks/peers -diff
	$(GO) mod tidy -C faults -diff
	$(GO) mod tidy -C internal/testserver/kubetest/apiserver -diff
	$(GO) mod tidy -C proto/tools -diff
	$(GO) mod tidy -C server/browser -diff
	$(GO) mod tidy -C deploy/tools -diff
	$(GO) mod tidy -C deploy/tools/actionlint -diff
	$(GO) mod tidy -C deploy/tools/goreleaser -diff

ci: ## Do what CI does
	@.ci/run

$(LINT): tools/go.mod tools/go.sum
	$(GO) build -C tools -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@
