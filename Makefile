# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The Go modules of the repository. NESTED have tests; the last runs without -race, because it tests processes and 100,000 Rollouts.
# PEERS is the benchmark whose peer needs other versions. PINS only pin the programs that are built.
ROLLOUT := internal/e2e/rollout
NESTED  := \
	internal/controlplane \
	internal/bench \
	internal/compat/newest \
	examples/agentrun \
	internal/demo \
	examples/controller-runtime \
	internal/consumer \
	examples/migrate \
	internal/e2e \
	internal/e2e/chart \
	$(ROLLOUT)
PEERS   := internal/bench/rollout
PINS    := internal/tools internal/tools/lint $(patsubst %/go.mod,%,$(wildcard internal/controlplane/build/*/go.mod))

export GOWORK := off

# A line that begins with ##@ names the group of the targets below it.
.PHONY: help
help:
	@awk -F ':.*## ' '/^##@ / { g = substr($$0, 5); if (!(g in help)) groups[++n] = g } \
		/^[a-z0-9 -]+:.*## / { split($$1, names, " "); help[g] = help[g] sprintf("  %-18s %s\n", names[1], $$2) } \
		END { for (i = 1; i <= n; i++) printf "%s%s:\n%s", (i > 1 ? "\n" : ""), groups[i], help[groups[i]] }' $(MAKEFILE_LIST)

##@ Try it
.PHONY: demo
demo: ## Run the example controller on a local control plane; KEEP=1 leaves it running, DEMO_CONTEXT=name uses that cluster
	@echo "== Each package in a line or two (examples/hello) =="; go run ./examples/hello
	@$(DEMO) $(if $(filter-out 0 no false,$(KEEP)),--keep) $(if $(DEMO_CONTEXT),--context=$(DEMO_CONTEXT))
# set -m and no go run: Ctrl-C reaches the demo alone, and make ends with 0 as the demo does.
DEMO = set -m; $(STATIC); cd internal/demo && go build -o "$(CURDIR)/bin/demo" . && "$(CURDIR)/bin/demo"

.PHONY: demo-picture
demo-picture: ## Run the demo and draw its table as internal/docs/demo.svg
	@$(DEMO) --record="$(CURDIR)/internal/docs/demo.svg"

##@ Test a change
.PHONY: test
test: controlplane ## Run before you send a change: unit tests, the examples and the core end-to-end suites
	@cd internal/e2e && go list -race -test -deps -export $(SUITES) >/dev/null && $(GOTEST) ./suite # compiles and vets what all of them import, or each would
	@$(RUN) -j3 test/core unit $(addprefix test/,$(CORE)) SHUFFLE=$(SHUFFLE) # the longest first

##@ Test everything
.PHONY: test-all
test-all: test test-rest ## Run all tests that must pass

.PHONY: test-rest
test-rest: ## Run what test-all adds: lint, Argo Rollouts, chart, Prometheus, faults, consumers, adoption, other versions
	@$(MAKE) --no-print-directory lint-core
	@$(MAKE) --no-print-directory e2e-rest
	@$(MAKE) --no-print-directory adoption test-floor

# It vets the packages without tests too. go vet would check everything that they import again.
GOTEST = go test -race -vet=all -timeout 20m
# With these flags a program shares compiled packages with helm, the chart's image and the control plane.
STATIC := export CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath"

# These tests run without the race detector, which changes allocations and makes the largest numbers too slow. They are vetted with it.
PLAIN := Alloc|PerObject|Thousand|CapHolds|CapsHold|InAnyMinute|Cliff
SLOW  := Thousand|Cliff

# The packages are tested with the newest versions, which the end-to-end tests require too. With the versions in the root's go.mod a cold
# make test would compile client-go twice. make test-floor tests those.
MODULE := github.com/proompteng/controllerkit
NEWEST := cd internal/compat/newest && packages=$$(go list $(MODULE)/... | grep -v /internal/repotest)

# make unit runs only what a change reaches. With SHUFFLE, as in make test, it runs everything, in a new order each time.
test test-all: SHUFFLE ?= -shuffle=on
##@ Test a change
.PHONY: unit
unit: ## Run while you work: unit tests of the root module with -race, offline; SHUFFLE=-shuffle=on repeats unchanged ones
	$(NEWEST); $(GOTEST) $(SHUFFLE) -skip '$(SLOW)' $$packages
	$(GOTEST) $(or $(SHUFFLE),-count=1) ./internal/repotest # it runs git and go list, which the test cache does not track
	packages=$$(git grep -lE '^func Test\w*($(PLAIN))' -- '*_test.go' | grep -v -e ^internal/e2e -e ^internal/bench | sed 's,/[^/]*$$,,;s,^,$(MODULE)/,' | sort -u); \
		$(STATIC); cd internal/compat/newest && go test -vet=off $(SHUFFLE) -run '$(PLAIN)' $$packages

# -count=1, because the test cache does not track the programs that the suites run. With -j, because most of a test is waiting.
CORE   := internal/demo examples/agentrun examples/controller-runtime
REST   := $(filter-out $(CORE) internal/e2e,$(NESTED))
SUITES := . ./status ./events ./jobgc
# Long tests of these suites, and tests that repeat a unit test on a real server. make test-rest runs them.
LONG   := TestDemoOnANamedCluster|TestAPIServerFailsDuringABurst|TestAFailureThatGoesOnKeepsItsEvent|TestSIGTERMWhileTheAPIServerHangs|TestHoldRecoveryWithKubectl|TestPrometheusOperatorTakesTheManifests
RUN     = $(MAKE) --no-print-directory --keep-going --output-sync=target
.PHONY: e2e e2e-rest test/core test/rest $(addprefix test/,$(NESTED))
e2e: controlplane ## Run the examples and the core end-to-end suites on a real API server and controller manager
	@$(RUN) -j3 test/core $(addprefix test/,$(CORE)) # the longest first
##@ Test everything
e2e-rest: ROLLOUTS := 1
e2e-rest: controlplane ## Run the other nested modules and end-to-end suites
	@$(RUN) -j3 test/$(ROLLOUT) test/rest test/internal/e2e/chart $(addprefix test/,$(REST)) # the longest first
test/core:
	@cd internal/e2e && $(GOTEST) -count=1 -p 4 -skip '^($(LONG))$$' $(SUITES)
test/rest:
	@cd examples/agentrun && $(GOTEST) -count=1 -tags=otlp . # the program that exports by OTLP
	@cd internal/e2e && $(GOTEST) -count=1 -run '^($(LONG))$$' $(SUITES); $(GOTEST) -count=1 $$(go list ./... | grep -vxE "$$(go list $(SUITES) | paste -sd'|')")
$(addprefix test/,$(filter-out $(ROLLOUT) internal/e2e,$(NESTED))): test/%:
	@cd $* && $(GOTEST) -count=1 ./...
test/$(ROLLOUT):
	@cd $(ROLLOUT); $(STATIC); go test -vet=all -count=1 -timeout 20m ./...

.PHONY: adoption
adoption: controlplane ## Insert controllerkit into kubebuilder, sample-controller and the code generators, and run their own tests
	@cd internal/adoption && $(GOTEST) -count=1 -timeout 30m -v .

.PHONY: e2e-chaos
e2e-chaos: ## Run all faults under load, and the role without each of its verbs; make test-all runs a short set
	@cd internal/e2e && go test -race -count=1 -timeout 40m -v ./chaos -full -parallel 4

.PHONY: e2e-soak
e2e-soak: ## Run 10,000 AgentRuns (RUNS=n) while API server and controller are killed, and 1,000 Jobs (JOBS=n) with a TTL of 0
	cd internal/e2e && E2E_JOBS=$(or $(JOBS),1000) go test -count=1 -timeout 60m -v -run '^TestGateTTLZero$$' ./jobgc
	cd internal/e2e && go test -count=1 -timeout 180m -v -run '^TestSoak$$' ./chaos -runs $(or $(RUNS),10000)

.PHONY: schedules
schedules: ## A million (SCHEDULES=n) random schedules of jobgc with two replicas, crashes and late caches; SEED=n begins at that seed
	JOBGC_SCHEDULES=$(or $(SCHEDULES),1000000) JOBGC_SEED=$(or $(SEED),1) go test -count=1 -timeout 120m -v -run '^TestTenThousandSchedules$$' ./jobgc

.PHONY: replicas
replicas: ## 1,000 (RUNS=n) Jobs of each of two examples, with two replicas that are killed at random and a late cache
	cd internal/e2e && E2E_JOBS=$(or $(RUNS),1000) go test -count=1 -timeout 180m -v -run '^TestGateTwoReplicas$$' ./jobgc

.PHONY: e2e-kills
e2e-kills: ## Kill the controller at 200 (KILLS=n) random points of its work under load; SEED=n repeats them
	@cd internal/e2e && go test -race -count=1 -timeout 120m -v -run '^TestTheControllerIsKilled$$' ./chaos -kills $(or $(KILLS),200) -seed $(or $(SEED),0)

.PHONY: stability
stability: ## Repeat make unit and make e2e until 20 (N=n) runs of each in a row passed; WHAT=unit repeats one of them
	@WHAT="$(WHAT)" internal/tools/stability.sh $(or $(N),20)

##@ Try it
.PHONY: controlplane
controlplane: ## Build the control plane's programs into the cache; ROLLOUTS=1 also those for Argo Rollouts
	@$(STATIC); cd internal/controlplane && go run ./cmd/build kubectl $(if $(filter-out 0 no false,$(ROLLOUTS)),kube-scheduler kwok rollouts-controller rollouts-oracle)

# set -m and no go run, as in demo.
.PHONY: controlplane-up
controlplane-up: controlplane ## Run an empty control plane on loopback until Ctrl-C, and print the lines that point kubectl at it
	@set -m; $(STATIC); cd internal/controlplane && go build -o "$(CURDIR)/bin/controlplane" ./cmd/controlplane && "$(CURDIR)/bin/controlplane"

##@ Test everything
.PHONY: dashboards
dashboards: ## Check the dashboard with Grafana's types, and its queries and alerts on a real Prometheus
	cd internal/e2e && go test -count=1 ./dashboards ./prometheus

##@ Test a change
.PHONY: lint lint-core actionlint
lint: LINTED := . $(NESTED) $(PEERS)
lint lint-core: actionlint ## Run golangci-lint in every module (lint-core: the root, examples and demo), and actionlint
	@$(STATIC); cd internal/tools/lint && go build -o "$(CURDIR)/bin/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@$(STATIC); for m in $(or $(LINTED),. $(CORE)); do echo "lint $$m"; work=off; [ $$m != . ] || work="$(CURDIR)/internal/compat/newest.work"; \
		(cd $$m && GOWORK=$$work "$(CURDIR)/bin/golangci-lint" run --config "$(CURDIR)/.golangci.yml" ./...); done

# Without shellcheck and pyflakes, so that the result does not depend on the programs of the machine.
actionlint: ## Check the workflows in .github
	@$(STATIC); cd internal/tools && go build -o "$(CURDIR)/bin/actionlint" github.com/rhysd/actionlint/cmd/actionlint
	@bin/actionlint -shellcheck= -pyflakes=

##@ Measure
.PHONY: bench
bench: ## Compare every package, or GROUP=status, with its peers; writes internal/bench/RESULTS.md
	@cd internal/bench && go run ./cmd/bench $(GROUP)

.PHONY: compare
compare: ## Compare the usual, a careful and our controller under the same faults (RUNS=n ROUNDS=n); DRAW=1 draws what was measured
	@cd internal/bench && go build -o "$(CURDIR)/bin/compare" ./cmd/compare && RUNS="$(RUNS)" ROUNDS="$(ROUNDS)" "$(CURDIR)/bin/compare" $(if $(filter-out 0 no false,$(DRAW)),-draw)

##@ Test everything
FUZZ_TIME = $(or $(T),30s)
.PHONY: fuzz
fuzz: ## Run each fuzz target of the root module for 30s (T=1m), or a number of times (T=200x)
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "fuzz $$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x $$p; done; done

.PHONY: fuzz-short
fuzz-short: ## Run each fuzz target 200 times; commit what it finds as a seed, which make unit then runs
	@$(MAKE) --no-print-directory fuzz T=200x

.PHONY: mutate
mutate: ## Break each operator of four packages, or of PACKAGE=status; fails if the tests notice 85 % or less
	@cd internal/tools && go build -o "$(CURDIR)/bin/gremlins" github.com/go-gremlins/gremlins/cmd/gremlins
	@export PATH="$(CURDIR)/internal/tools/mutate/bin:$$PATH"; for p in $(or $(PACKAGE),status events jobgc rollout); do \
		echo "mutate $$p"; bin/gremlins unleash --config internal/tools/mutate/gremlins.yaml --output-statuses ltv ./$$p; done

##@ Generate
.PHONY: api
api: ## Rewrite the golden file of the exported API after a reviewed change
	go test ./internal/repotest -run '^TestAPI$$' -update

.PHONY: generate
generate: ## Generate deep copies, CRDs, a role, and the chart of the examples
	cd examples/agentrun && go generate ./...
	cd internal/e2e/chart && go test -run '^(TestGeneratedFilesAreCurrent|TestDefaults)$$' . -update
	cd examples/controller-runtime && go generate ./...

.PHONY: apidiff
apidiff: ## Compare the exported API with the last tag, or REF=commit; fails on a break if CHANGELOG has no section for it
	@internal/tools/apidiff.sh $(REF)

##@ Test other versions
.PHONY: skew
skew: test-floor test-client-go unit skew-e2e ## Run the tests with other versions of Go, of the modules and of Kubernetes

.PHONY: test-floor
test-floor: ## Test the root module with the versions in go.mod, the lowest that we support
	GOTOOLCHAIN=go$$(sed -n 's/^go //p' go.mod) go test -vet=off ./... # make unit vets it

PACKAGES = $$(go list $(MODULE)/... | grep -v -e /examples/ -e /internal/repotest)
CLIENT_GO := v0.35.10 v0.36.6
.PHONY: test-client-go
test-client-go: ## Test the packages with the client-go versions between the lowest and the newest, or with V=v0.35.10
	@mkdir -p bin; for v in $(or $(V),$(CLIENT_GO)); do echo "client-go $$v"; mod=bin/client-go-$$v.mod; cp go.mod $$mod; cp go.sum $${mod%mod}sum; \
		go get -modfile=$$mod k8s.io/api@$$v k8s.io/apimachinery@$$v k8s.io/client-go@$$v; go mod tidy -modfile=$$mod; \
		go test -modfile=$$mod $(PACKAGES); done

# The other suites need no older API server (prometheus, dashboards) or pin their own version (chart, kstatus, rollout).
KUBERNETES := 1.34 1.35 1.36
.PHONY: skew-e2e
skew-e2e: ## Run the end-to-end tests on three versions of Kubernetes, or on V=1.34; the first run builds them
	@for v in $(or $(V),$(KUBERNETES)); do export CONTROLLERKIT_KUBERNETES=$$v; echo "Kubernetes v$$v"; \
		(cd internal/controlplane && nice go run ./cmd/build && go test -count=1 -run '^TestProgramsCarryTheirRealVersion$$' .); \
		(cd internal/e2e && go test -race -count=1 -timeout 20m . ./status ./events ./jobgc ./chaos); done

##@ Generate
.PHONY: tidy
tidy: ## Run go mod tidy in every module, and gofmt
	@for m in . $(NESTED) $(PEERS) $(PINS); do (cd $$m && go mod tidy); done
	@cd internal/controlplane/build/kubernetes && for old in [0-9]*.mod; do go mod tidy -modfile=$$old; done
	@git ls-files '*.go' | xargs gofmt -w
