# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The Go modules of the repository: those that are tested (the last without -race: what it tests are processes, and 100,000 Rollouts),
# those that hold the peers of the benches, and those that only pin what is built.
ROLLOUT := internal/e2e/rollout
NESTED  := \
	internal/controlplane \
	internal/bench \
	examples/agentrun \
	examples/controller-runtime \
	internal/consumer \
	internal/docs/migrate \
	internal/e2e \
	internal/e2e/chart \
	internal/e2e/kstatus \
	$(ROLLOUT)
PEERS   := $(patsubst %/go.mod,%,$(wildcard internal/bench/*/go.mod))
PINS    := internal/tools internal/tools/lint internal/tools/mutate internal/e2e/operatorcrds $(patsubst %/go.mod,%,$(wildcard internal/controlplane/build/*/go.mod))

export GOWORK := off

.PHONY: help
help: ## Show the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: demo
demo: ## Run the example controller on a local control plane; KEEP=1 leaves it up, DEMO_CONTEXT=name uses that cluster
	@echo "== Each package in a line or two (examples/hello) =="; go run ./examples/hello
	@cd examples/agentrun && go run ./cmd/demo $(if $(filter-out 0 no false,$(KEEP)),--keep) $(if $(DEMO_CONTEXT),--context=$(DEMO_CONTEXT))

.PHONY: test
test: vet unit e2e ## Everything that must pass

.PHONY: vet
vet: ## go vet in every module but the peers'
	@for m in . $(filter-out $(ROLLOUT),$(NESTED)); do echo "vet $$m"; (cd $$m && go vet -race ./...); done # -race: shares what the tests compile
	@echo "vet $(ROLLOUT)"; cd $(ROLLOUT) && go vet ./...

# What the race detector would change or make too slow: allocations, the largest numbers.
PLAIN := Alloc|PerObject|Thousand|CapHolds|CapsHold|InAnyMinute|Cliff

# While you work only what a change reaches is run again. make test, and whoever sets SHUFFLE, runs all of it, in another order each time.
test: SHUFFLE ?= -shuffle=on
.PHONY: unit
unit: ## The root module with -race: unit tests, examples and the rules of the house; offline, no cluster; SHUFFLE=-shuffle=on runs all anew
	packages=$$(go list ./... | grep -v /internal/house); go test -race $(SHUFFLE) $$packages
	go test -race $(or $(SHUFFLE),-count=1) ./internal/house # it runs git and go list, whose answers the cache of results does not know
	packages=$$(git grep -lE '^func Test\w*($(PLAIN))' -- '*_test.go' | sed 's,^,./,; s,/[^/]*$$,,' | sort -u); go test $(SHUFFLE) -run '$(PLAIN)' $$packages

# -count=1: they run programs that the test cache knows nothing of. Two modules at once, for most of a test is waiting; what each prints
# stays together. The programs are built before, where that is seen.
TESTED := $(addprefix test/,$(NESTED))
.PHONY: e2e $(TESTED)
e2e: ROLLOUTS := 1
e2e: controlplane ## The nested modules: the control plane's, the example's and the end-to-end tests on the real control plane
	@$(MAKE) --no-print-directory --keep-going -j2 --output-sync=target test/internal/e2e $(TESTED) # the longest first
$(filter-out test/$(ROLLOUT),$(TESTED)): test/%:
	@cd $* && go test -race -count=1 -timeout 20m ./...
test/$(ROLLOUT):
	@cd $(ROLLOUT) && go test -count=1 -timeout 20m ./...

.PHONY: e2e-chaos
e2e-chaos: ## The whole set of faults under load, and the role without each of its verbs; make e2e has a short one
	@cd internal/e2e && go test -race -count=1 -timeout 40m -v ./chaos -full -parallel 4

.PHONY: e2e-soak
e2e-soak: ## The numbers of jobgc with 1,000 Jobs (JOBS=n), then 10,000 AgentRuns (RUNS=n) while API server and controller are killed
	cd internal/e2e && E2E_JOBS=$(or $(JOBS),1000) go test -count=1 -timeout 60m -v -run '^TestGate' ./jobgc
	cd internal/e2e && RUNS=$(or $(RUNS),10000) go test -count=1 -timeout 180m -v ./soak

.PHONY: e2e-kills
e2e-kills: ## The controller killed at KILLS (200) random points of its work under load; SEED=n repeats the points of a run
	@cd internal/e2e && go test -race -count=1 -timeout 120m -v -run '^TestTheControllerIsKilled$$' ./chaos -kills $(or $(KILLS),200) -seed $(or $(SEED),0)

.PHONY: stability
stability: ## make unit and make e2e until the last N (20) of each in internal/docs/stability.tsv were right; WHAT=unit one of them
	@WHAT="$(WHAT)" internal/tools/stability.sh $(or $(N),20)

.PHONY: controlplane
controlplane: ## Build the control plane's programs into the cache and print where they are; ROLLOUTS=1 those of internal/e2e/rollout too
	@cd internal/controlplane && go run ./cmd/build $(if $(filter-out 0 no false,$(ROLLOUTS)),kube-scheduler kwok rollouts-controller rollouts-oracle)

CONTROLPLANE = @cd internal/controlplane && go build -o "$(CURDIR)/bin/controlplane" ./cmd/controlplane && "$(CURDIR)/bin/controlplane" --state="$(CURDIR)/bin/controlplane.json"
.PHONY: controlplane-up controlplane-down controlplane-env
controlplane-up: controlplane ## Start a control plane on loopback that stays up, in the background
	$(CONTROLPLANE) up
controlplane-env: ## Print the lines that point kubectl at it: eval "$(make -s controlplane-env)"
	$(CONTROLPLANE) env
controlplane-down: ## End it, and remove its files
	$(CONTROLPLANE) down

.PHONY: dashboard-picture
dashboard-picture: ## The dashboard's panels, drawn from a real Prometheus' answers, as bin/dashboard.html; with Chromium as bin/dashboard.png too
	@cd internal/e2e && go run ./observability/cmd/picture --out="$(CURDIR)/bin"

.PHONY: dashboards
dashboards: ## The dashboard on Grafana's own types, its queries and alerts on a real Prometheus
	cd internal/e2e && go test -count=1 ./dashboards ./prometheus

.PHONY: lint
lint: ## golangci-lint in every module, with the configuration of the root
	@cd internal/tools/lint && go build -o "$(CURDIR)/bin/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@for m in . $(NESTED) $(PEERS); do echo "lint $$m"; (cd $$m && "$(CURDIR)/bin/golangci-lint" run --config "$(CURDIR)/.golangci.yml" ./...); done

.PHONY: bench
bench: ## Ours beside the peers in one run, all packages or GROUP=status; writes internal/bench/RESULTS.md
	@cd internal/bench && go run ./cmd/bench $(GROUP)

.PHONY: proof
proof: ## The same faults for ours and for the usual way, on one screen; writes internal/bench/PROOF.txt, which README quotes
	@cd internal/bench && go run ./cmd/proof

FUZZ_TIME = $(or $(T),30s)
.PHONY: fuzz
fuzz: ## Each fuzz target of the root module for T (30s), or so many times: T=200x
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "fuzz $$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ_TIME) $$p; done; done

.PHONY: fuzz-short
fuzz-short: ## Each fuzz target a few hundred times; what one has found becomes a seed, which make unit runs each time
	@$(MAKE) --no-print-directory fuzz T=200x

.PHONY: mutate
mutate: ## Break each operator of four packages in turn, or of PACKAGE=status: fails if the tests notice 85 % or less (internal/docs/mutants.md)
	@cd internal/tools/mutate && go build -o "$(CURDIR)/bin/gremlins" github.com/go-gremlins/gremlins/cmd/gremlins
	@export PATH="$(CURDIR)/internal/tools/mutate/bin:$$PATH"; for p in $(or $(PACKAGE),status events jobgc rollout); do \
		echo "mutate $$p"; bin/gremlins unleash --config internal/tools/mutate/gremlins.yaml --output-statuses ltv ./$$p; done

.PHONY: api
api: ## Rewrite the golden file of the exported API after a change that was reviewed
	go test ./internal/house -run '^TestAPI$$' -update

.PHONY: generate
generate: ## Deep copies, CRDs and the role of the examples, from their types
	cd examples/agentrun && go generate ./...
	cd internal/e2e/chart && go test -run '^(TestGeneratedFilesAreCurrent|TestDefaults)$$' . -update
	cd examples/controller-runtime && go generate ./...

.PHONY: diagram
diagram: ## The picture of the architecture from its source; needs graphviz
	@cd internal/docs && dot -Tsvg architecture.dot >architecture.svg && echo "<!-- of architecture.dot, sha256 $$(sha256sum architecture.dot | cut -d' ' -f1) -->" >>architecture.svg

.PHONY: apidiff
apidiff: ## What changed in the exported API since the last tag, or REF=commit; a break without a Breaking section in CHANGELOG fails
	@internal/tools/apidiff.sh $(REF)

.PHONY: skew
skew: skew-unit skew-e2e ## The tests with other versions of client-go and of Kubernetes

CLIENT_GO := 0.35 0.36
.PHONY: skew-unit
skew-unit: ## The packages' tests with older minors of client-go, and with that of go.mod
	@for v in $(CLIENT_GO); do echo "client-go v$$v"; \
		go test -count=1 -tags skew -modfile=internal/compat/client-go-$$v.mod $$(go list ./... | grep -v -e /examples/ -e /internal/house); done
	@echo "client-go of go.mod"; go test ./...

# What is left out needs no other API server (prometheus, dashboards), or has a version of its own (chart, kstatus, rollout).
KUBERNETES := 1.34 1.35 1.36
.PHONY: skew-e2e
skew-e2e: ## The end-to-end tests on older minors of Kubernetes and on the usual one, or on one: V=1.34; the first time builds it
	@for v in $(or $(V),$(KUBERNETES)); do export CONTROLLERKIT_KUBERNETES=$$v; echo "Kubernetes v$$v"; \
		(cd internal/controlplane && nice go run ./cmd/build && go test -count=1 -run '^TestProgramsCarryTheirRealVersion$$' .); \
		(cd internal/e2e && go test -race -count=1 -timeout 20m . ./status ./events ./jobgc ./chaos); done

.PHONY: tidy
tidy: ## go mod tidy in every module, gofmt everywhere
	@for m in . $(NESTED) $(PEERS) $(PINS); do (cd $$m && go mod tidy); done
	@git ls-files '*.go' | xargs gofmt -w
