# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
export GOWORK := off

# The Go modules of the repository. NESTED have tests. PINS only pin the programs that are built.
NESTED  := \
	internal/controlplane \
	internal/bench \
	internal/compat/newest \
	examples/agentrun \
	internal/demo \
	examples/controller-runtime \
	internal/adoption \
	examples/migrate \
	internal/e2e
PINS    := internal/tools internal/tools/lint \
	$(patsubst %/go.mod,%,$(wildcard internal/controlplane/build/*/go.mod))

# With these flags a program shares compiled packages with helm, the chart's image and the control plane, and a test
# without the race detector shares them with the demo.
PLAIN  := CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath"
STATIC := export $(PLAIN)
# It vets the packages without tests too. go vet would check everything that they import again.
GOTEST  = $(if $(RACE),$(CURDIR)/internal/tools/race.sh,$(PLAIN) go test) -vet=all -timeout 20m
RUN     = $(MAKE) --no-print-directory --keep-going --output-sync=target
# The packages are tested with the newest versions of their dependencies, which the examples and the end-to-end tests
# require too, so that each is compiled once. make test-floor tests the lowest.
MODULE := github.com/proompteng/controllerkit
NEWEST := cd internal/compat/newest && packages=$$(go list $(MODULE)/... | grep -v /internal/repotest)

# What runs where. PLANE are tests of examples/agentrun that start a control plane. make e2e runs them, and SUITES without
# LONG. make test-all runs the rest of internal/e2e, and what is in REST without the race detector.
PLANE  := TheManagerRunsAgentRuns
SUITES := . ./status ./events ./jobgc
LONG   := TestDemoOnANamedCluster|TestPrometheusOperatorTakesTheManifests
APART  := internal/e2e/chart internal/e2e/rollout internal/adoption/consumer
REST   := $(filter internal/%,$(filter-out internal/demo internal/e2e internal/adoption,$(NESTED))) $(APART)

# A line that begins with ##@ names the group of the targets below it.
.PHONY: help
help:
	@awk -F ':.*## ' -f internal/tools/help.awk $(MAKEFILE_LIST)

##@ Try it
.PHONY: demo
demo: ## Kill a usual controller and the example while each runs 50 Jobs; DEMO_CONTEXT=name uses your cluster, KEEP=1 leaves it up, DRAW=1 draws it
	@$(DEMO) $(if $(call on,$(KEEP)),--keep) $(if $(DEMO_CONTEXT),--context=$(DEMO_CONTEXT)) \
		$(if $(call on,$(DRAW)),--record="$(CURDIR)/internal/docs/demo.svg")
on = $(filter-out 0 no false,$(1))
# set -m and no go run: Ctrl-C reaches the demo alone, and make ends with 0 as the demo does.
DEMO = set -m; $(STATIC); cd internal/demo && go build -o "$(CURDIR)/bin/demo" . && "$(CURDIR)/bin/demo"

.PHONY: controlplane
controlplane: ## Build the control plane's programs into the cache; ROLLOUTS=1 also those for Argo Rollouts, UP=1 runs it until Ctrl-C
	@$(STATIC); cd internal/controlplane && go run ./cmd/build kubectl \
		$(if $(call on,$(ROLLOUTS)),kube-scheduler kwok rollouts-controller rollouts-oracle)
	@$(if $(call on,$(UP)),set -m; $(STATIC); cd internal/controlplane && \
		go build -o "$(CURDIR)/bin/controlplane" ./cmd/controlplane && "$(CURDIR)/bin/controlplane",:)

##@ Test a change
.PHONY: test test/packages test/examples
test: ## Run while you work: unit tests of the packages and the examples, offline, without a cluster
	@$(RUN) -j2 test/packages test/examples
test/packages:
	@$(NEWEST) && $(GOTEST) $(SHUFFLE) $$packages
	@go test -count=1 -timeout 20m ./internal/repotest # not cached: it runs git, go list and go vet
test/examples:
	@cd examples/agentrun && $(GOTEST) $(SHUFFLE) -skip '$(PLANE)' ./...
	@cd examples/controller-runtime && $(GOTEST) $(SHUFFLE) ./...
	@cd examples/migrate && $(GOTEST) $(SHUFFLE) ./...
	@cd internal/demo && $(GOTEST) $(SHUFFLE) ./...

# What is left out starts no goroutine.
.PHONY: race
race test/rest adoption: RACE := -race
race: ## Run the unit tests of what has goroutines with the race detector
	@$(NEWEST) && $(GOTEST) $(SHUFFLE) -skip 'TestSearch|LinearTime' \
		$$(grep -vE '/rollout|/redact' <<<"$$packages")
	@$(NEWEST) && $(GOTEST) $(SHUFFLE) -run 'SecretValues|Attempt' $(MODULE)/events/redact # the rest works on texts
	@cd examples/agentrun && $(GOTEST) $(SHUFFLE) -skip '$(PLANE)' ./...

# check works from source: go vet would compile 1,000 packages for each system, ten minutes of CPU time. actionlint
# runs without shellcheck and pyflakes, so that its result does not depend on the programs of the machine.
.PHONY: lint
lint: LINTED := $(if $(call on,$(CORE)),. examples/agentrun examples/controller-runtime internal/demo,. $(NESTED))
lint: ## Run golangci-lint in every module (CORE=1: root, examples, demo) and actionlint; compile for macOS and Windows
	@$(STATIC); cd internal/adoption && go build -o "$(CURDIR)/bin/check" ./consumer/check
	@export GOWORK="$(CURDIR)/internal/compat/newest.work"; for p in darwin/arm64 windows/amd64; do \
		echo "check $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} bin/check -tests ./...; done
	@$(STATIC); cd internal/tools && go build -o "$(CURDIR)/bin/actionlint" github.com/rhysd/actionlint/cmd/actionlint
	@bin/actionlint -shellcheck= -pyflakes=
	@$(STATIC); internal/tools/lint.sh $(LINTED)

# -count=1, because the test cache does not track the programs that the suites run. With -j, because most of a test is
# waiting. The longest begins first.
.PHONY: e2e test/core test/agentrun
e2e: controlplane ## Run the core end-to-end suites on a real API server and controller manager (Linux)
	@$(RUN) -j2 test/core test/agentrun RACE=$(RACE)
test/core:
	@cd internal/e2e && $(GOTEST) -count=1 -p 4 -skip '^($(LONG))$$' $(SUITES)
test/agentrun:
	@cd examples/agentrun && $(GOTEST) -count=1 -run '$(PLANE)' ./cmd

##@ Test everything
.PHONY: test-all
test-all: test race ## Run all tests that must pass (Linux)
	@$(MAKE) --no-print-directory e2e RACE=-race
	@$(MAKE) --no-print-directory lint CORE=1
	@$(MAKE) --no-print-directory test/suites adoption test-floor

# The suites that make e2e leaves out: Argo Rollouts, chart, Prometheus, faults, consumers.
.PHONY: test/suites test/rest $(addprefix test/,$(REST))
test/suites: ROLLOUTS := 1
test/suites: controlplane
	@$(RUN) -j3 test/internal/e2e/rollout test/rest $(filter-out %/rollout,$(addprefix test/,$(REST)))
test/rest:
	@cd examples/agentrun && $(GOTEST) -count=1 -tags=otlp -skip '$(PLANE)' ./cmd # the program that exports by OTLP
	@cd internal/e2e && $(GOTEST) -count=1 -run '^($(LONG))$$' .
	@cd internal/e2e && $(GOTEST) -count=1 \
		$$(go list ./... | grep -vxE "$$(go list $(SUITES) | paste -sd'|')" | grep -vE '/(chart|rollout)(/|$$)')
$(addprefix test/,$(REST)): test/%:
	@cd $* && $(GOTEST) -count=1 ./...

.PHONY: adoption
adoption: controlplane ## Insert controllerkit into other projects and run their tests: kubebuilder, Flux, apimachinery, agent-sandbox, external-snapshotter
	@cd internal/adoption && $(GOTEST) -count=1 -timeout 30m -v .

# A dead watch takes eleven minutes. Meanwhile the tests that break or fill a control plane have another one.
ALONE  := CRD|Kills|AtOnce|Etcd|Servers
.PHONY: faults faults/servers faults/namespaces
faults: controlplane ## Break the network, the servers and the cluster, and kill the controller (RUNS=n); writes internal/docs/evidence.md
	@mkdir -p bin; rm -f bin/faults.rows
	@$(RUN) -j2 faults/servers faults/namespaces
	@{ head -2 bin/faults.rows; tail -n +3 bin/faults.rows | LC_ALL=C sort; } >bin/faults.md
	@internal/tools/evidence.sh faults bin/faults.md
FAULTS = cd internal/e2e && $(GOTEST) -count=1 -timeout 180m ./chaos -table "$(CURDIR)/bin/faults.rows" $(if $(RUNS),-runs $(RUNS))
faults/servers:
	@$(FAULTS) -run '$(ALONE)'
faults/namespaces:
	@$(FAULTS) -skip '$(ALONE)|Verb'

.PHONY: sieve
sieve: ## Play all plans of Sieve's three patterns with four controllers in virtual time; writes internal/docs/evidence.md
	@mkdir -p bin; cd internal/bench && $(GOTEST) -count=1 -timeout 60m ./sieve -every 1 -table "$(CURDIR)/bin/sieve.md"
	@internal/tools/evidence.sh sieve bin/sieve.md
	@$(MAKE) --no-print-directory compare DRAW=1

.PHONY: fuzz
fuzz: ## Run each fuzz target of the root module for 30s (T=1m), or a number of times (T=200x); commit what it finds as a seed
	@internal/tools/fuzz.sh $(or $(T),30s)

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what the root module and the example controller call (needs vuln.go.dev)
	@go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...
	@cd examples/agentrun && go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

##@ Measure
.PHONY: bench
bench: ## Compare every package, or GROUP=status, with its peers; writes internal/bench/RESULTS.md
	@failed=; for group in $(or $(GROUP),$(notdir $(patsubst %/main.go,%,$(wildcard internal/bench/*/main.go)))); do \
		(cd internal/bench/$$group && go test -count=1 ./... && go run .) || failed+=" $$group"; \
	done; [[ -z $$failed ]] || { echo "failed:$$failed" >&2; exit 1; }

.PHONY: compare
compare: REDRAW := $(if $(call on,$(DRAW)),-draw)
compare: ## Compare a usual, a careful and our controller under faults (RUNS=n ROUNDS=n); DRAW=1 draws what is measured
	@$(if $(REDRAW),:,cd internal/bench/controller && BENCH_RUNS=$(or $(RUNS),300) BENCH_ROUNDS=$(or $(ROUNDS),3) go run .)
	@cd internal/bench && go run ./cmd/compare -runs=$(or $(RUNS),300) -rounds=$(or $(ROUNDS),3) $(REDRAW)
	@go test -count=1 ./internal/repotest -run '^TestReadme_Measured' -update

##@ Generate
.PHONY: api
api: ## Rewrite the golden file of the exported API after a reviewed change
	go test ./internal/repotest -run '^TestAPI$$' -update

.PHONY: generate
generate: ## Generate deep copies, CRDs, a role, and the chart of the examples
	cd examples/agentrun && go generate ./...
	cp metrics/mixin/alerts.yaml examples/chart/rules/alerts.yaml
	cp metrics/mixin/dashboard.json examples/chart/dashboards/controllers.json
	cd internal/e2e/chart && go test -run '^(TestGeneratedFilesAreCurrent|TestRendered|TestValues)$$' . -update
	cd examples/controller-runtime && go generate ./...

.PHONY: apidiff
apidiff: ## Compare the API with the last tag, or REF=commit; fails on a break if CHANGELOG has no section for it
	@internal/tools/apidiff.sh $(REF)

.PHONY: tidy
tidy: ## Run go mod tidy in every module, and gofmt
	@for m in . $(NESTED) $(PINS); do (cd $$m && go mod tidy); done
	@cd internal/controlplane/build/kubernetes && for old in [0-9]*.mod; do go mod tidy -modfile=$$old; done
	@git ls-files '*.go' | xargs gofmt -w

##@ Test other versions
.PHONY: test-floor
test-floor: ## Test the root module with the versions in go.mod, the lowest that we support
	export GOTOOLCHAIN=go$$(sed -n 's/^go //p' go.mod); \
		go test -vet=off -skip TestSearch $$(go list ./... | grep -v /internal/repotest) # make test vets it

.PHONY: skew
skew: test-floor ## Test with versions between: client-go (CLIENT_GO=v0.35.10), and Kubernetes (K8S=1.34), which it builds at first
	@internal/tools/client-go.sh $(or $(CLIENT_GO),v0.35.10 v0.36.6)
	@internal/tools/skew.sh $(or $(K8S),1.34 1.35 1.36)
