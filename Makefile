# What one does with lockstep. Go, git and make are all it takes; `make` alone
# prints the list, made from the comments beside the targets.

GO       ?= go
GOFMT     = "$$($(GO) env GOROOT)/bin/gofmt"
SUITES    = integration-tests
GOLANGCI  = .tools/golangci-lint/go.mod
KUSTOMIZE = .tools/kustomize/go.mod
CONTROLLER_GEN = .tools/controller-gen/go.mod

# What is built: by default for this machine, named after its commit.
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
TARGETOS   ?= $(shell $(GO) env GOOS)
TARGETARCH ?= $(shell $(GO) env GOARCH)
IMAGE      ?= lockstep:devel
CONTAINER  ?= docker

# Without C everywhere, so that tests, operator and control plane share what is
# compiled of the standard library; and compilers that may use more memory before
# they collect garbage, which takes a fifth off a cold build.
export CGO_ENABLED ?= 0
export GOGC ?= 400

# Tests are linked without debugging symbols, and vetted by make lint.
TEST_FLAGS ?= -vet=off -ldflags=-w

# Suites wait more than they compute: two packages at a time suit two cores.
SUITES_FLAGS ?= -count=1 -p 2 -parallel 6 -timeout 2h

# The explorer goes by itself, from its own folder: so it prints what it explored.
unit_packages = $(shell $(GO) list ./...)

# The cluster's own package goes first, alone and from its own folder: go test
# then shows at once what is printed while the Kubernetes programs are built.
suite_packages = $(shell cd $(SUITES) && $(GO) list ./...)

# Linting one module: from its own folder, with the linter of this commit.
lint = $(GO) tool -modfile=$(CURDIR)/$(GOLANGCI) golangci-lint

# Generating from API types, with the controller-gen of this commit.
controller_gen = $(GO) tool -modfile=$(CURDIR)/$(CONTROLLER_GEN) controller-gen

# Rendering manifests, with the kustomize of this commit.
kustomize = $(GO) tool -modfile=$(CURDIR)/$(KUSTOMIZE) kustomize build

# Folders with Go files that differ from the last commit: $(call changed,module)
changed = $(addprefix ./,$(sort $(dir $(shell cd $(1) && \
	{ git diff --relative --name-only --diff-filter=d HEAD -- '*.go' 2>/dev/null; \
	  git ls-files --others --exclude-standard -- '*.go'; }))))

# Packages whose tests rewrite their golden and generated files under -update,
# and packages with property tests: found in the tree, so none is forgotten.
golden_packages = $(addprefix ./,$(sort $(dir $(shell \
	git grep --no-index -l 'flag\.Bool.*"update"' -- internal cmd))))
property_packages = $(addprefix ./,$(sort $(dir $(shell \
	git grep --no-index -l '^[[:space:]]*"pgregory.net/rapid"$$' -- 'internal/*_test.go'))))

# Fuzz targets, as folder:name. How much each of them gets: inputs, or a time.
fuzz_targets = $(shell git grep --no-index '^func Fuzz' -- 'internal/*_test.go' | sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9]*).*|./\1:\2|')
FUZZTIME ?= 100000x

# A cluster of yours for make demo and make e2e: its kubeconfig, in the place of clusters of their own.
ifdef KUBECONFIG_E2E
override export KUBECONFIG_E2E := $(abspath $(KUBECONFIG_E2E))
endif

# How many plans the fault campaign tries, and the file of what came of them: seeds
# that stand there for this code are passed over, so a run goes on where it stopped.
FAULTS         ?= 60
FAULTS_RESULTS ?= bin/faults.jsonl

help:
	@while IFS= read -r line; do case $$line in \
	"##@ "*) printf '\n%s\n' "$${line#"##@ "}" ;; \
	[a-z]*": "*"## "*) printf '  make %-11s %s\n' "$${line%%:*}" "$${line#*"## "}" ;; \
	esac; done < Makefile

##@ See it work

demo: ## roll three zones in two namespaces on a local cluster, and lose a Node of a StatefulCluster; DEMO_KEEP=1 leaves it running, DEMO_JAEGER=1 adds a Jaeger; KUBECONFIG_E2E=FILE takes a cluster of yours
	cd $(SUITES) && $(GO) run ./demo

bench: ## speed and size against the goals, beside a bare loop; BENCH_FLAGS='-only memory', '-only soak', '-long', '-help'
	cd $(SUITES) && $(GO) run ./bench $(BENCH_FLAGS)

##@ While working

check: format-check vet lint-changed unit ## before every commit, under a minute: format, vet, lint of what changed, unit tests, floors

fmt: ## format, imports in order
	$(lint) fmt ./...
	cd $(SUITES) && $(lint) fmt ./...

fix: ## let the linters repair what they can
	$(lint) run --fix ./...
	cd $(SUITES) && $(lint) run --fix ./...

golden: golden-files ## rewrite golden files, then show what changed
	@git --no-pager diff --stat

generate: api deps golden-files ## everything that is made from code: CRDs, documents, RBAC, golden files, list of linked packages

##@ Before a merge

verify: ## generated files are up to date
	@MAKE="$(MAKE)" sh .ci/verify

lint: ## all linters over everything
	$(lint) run ./...
	cd $(SUITES) && $(lint) run ./...
	cd $(SUITES)/dns && $(lint) run ./...
	$(GO) test $(TEST_FLAGS) -run TestTextsUseTheVocabulary ./internal/proof/house

test: ## all tests: units, properties, scenarios, a small exploration, then the suites on local clusters
	$(GO) test $(TEST_FLAGS) -timeout 60m $(filter-out %/internal/proof/sim,$(unit_packages))
	cd internal/proof/sim && $(GO) test $(TEST_FLAGS) -count=1 -timeout 60m
	cd $(SUITES)/localcluster && $(GO) test $(TEST_FLAGS) $(SUITES_FLAGS)
	cd $(SUITES) && $(GO) test $(TEST_FLAGS) $(SUITES_FLAGS) $(filter-out %/localcluster,$(suite_packages))

##@ Longer and deeper

explore: ## every history of planner, hold and freshness in small worlds, wider than make test; prints sizes and covered events
	cd internal/proof/sim && LOCKSTEP_EXPLORE=full $(GO) test -run TestExplore -count=1 -timeout 4h
	cd internal/proof/sim/pools && LOCKSTEP_STATES=$${LOCKSTEP_STATES:-60000} $(GO) test -run TestExplore -v -count=1 -timeout 4h

sim: ## LOCKSTEP_SCHEDULES walks (20000) through days of simulated time, of many groups, faults and clocks, and as many of StatefulClusters; LOCKSTEP_SEED=n begins with that one
	cd internal/proof/sim/walk && LOCKSTEP_SCHEDULES=$${LOCKSTEP_SCHEDULES:-20000} $(GO) test $(TEST_FLAGS) -run TestWalk -count=1 -timeout 24h
	cd internal/proof/sim/pools && LOCKSTEP_SCHEDULES=$${LOCKSTEP_SCHEDULES:-20000} $(GO) test $(TEST_FLAGS) -run TestRuns -count=1 -timeout 24h

mutants: ## plant mistakes in the source, each of which its own test must notice; MUTANTS=part of a name for some
	cd internal/proof/mutants && LOCKSTEP_MUTANTS='$(or $(MUTANTS),all)' $(GO) test -run TestMutants -count=1 -timeout 90m

faults: ## a campaign of plans made from seeds, with faults nobody chose; FAULTS=1000 for more, FAULTS_FLAGS='-seed 1001' for others, '-only 17' for one again
	cd $(SUITES) && $(GO) run ./campaign -plans $(FAULTS) -results $(abspath $(FAULTS_RESULTS)) $(FAULTS_FLAGS)

crashes: ## kill the operator at every write of a rollout, a downscale, an eviction and what happens to a StatefulCluster, play every mix of faults around it, storms of evictions; LOCKSTEP_SEED=n repeats a run
	cd $(SUITES)/apiserver && LOCKSTEP_FAULTS=all $(GO) test -run 'Survives|Late|BackOff|Certificate' -v -count=1 -parallel 8 -timeout 2h
	cd $(SUITES)/apiserver && LOCKSTEP_FAULTS=all $(GO) test -run 'LargerThan' -v -count=1 -timeout 2h
	cd $(SUITES)/apiserver && LOCKSTEP_FAULTS=all $(GO) test -run 'StormOfEvictions|Drained|MissingPodBlocks' -v -count=1 -timeout 2h

storm: ## a thousand rounds of rollouts and downscales that begin in any order; LOCKSTEP_SEED=n repeats a run
	cd $(SUITES)/apiserver && LOCKSTEP_FAULTS=all $(GO) test -run 'InEveryOrder' -v -count=1 -parallel 8 -timeout 2h

monitoring: ## alerts, recording rules and every query of the dashboard, on a Prometheus that is built for it once
	cd $(SUITES)/monitoring && LOCKSTEP_MONITORING=check $(GO) test $(TEST_FLAGS) -count=1 -timeout 2h

e2e: ## everything users do, on nodes of its own that run containers; needs root and Debian's packages, docs/e2e.md; KUBECONFIG_E2E=FILE takes a cluster of yours
	cd $(SUITES) && $(if $(KUBECONFIG_E2E),,LOCKSTEP_E2E=run )$(GO) test $(TEST_FLAGS) -v -count=1 -p 1 -parallel 4 -timeout 2h $(E2E_FLAGS) $(if $(KUBECONFIG_E2E),,./debian ./enclosure ./realnode )./e2e

prop: ## property tests with RAPID_CHECKS cases each (10000)
	RAPID_CHECKS=$${RAPID_CHECKS:-10000} $(GO) test -count=1 -timeout 60m $(property_packages)

fuzz: ## every fuzz target in turn, FUZZTIME inputs each (100000x; 10m is a time); what fails is kept as a seed
	@for target in $(fuzz_targets); do \
	echo "$$target" && $(GO) test -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "$${target%%:*}" || exit 1; done

race: ## unit tests with the race detector; the one target that needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -timeout 20m ./...

cover: ## unit tests' coverage by room, then as a whole
	@mkdir -p bin
	$(GO) test -coverprofile=bin/cover.out ./internal/...
	@$(GO) tool cover -func=bin/cover.out | tail -n 1

##@ Products

build: ## the operator and the plugin of kubectl, static, as bin/lockstep and bin/kubectl-lockstep
	CGO_ENABLED=0 GOOS=$(TARGETOS) GOARCH=$(TARGETARCH) $(GO) build -tags grpcnotrace -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)" -o bin/ ./cmd/...

image: ## the operator's image as IMAGE (lockstep:devel), with docker or CONTAINER=podman
	$(CONTAINER) build --build-arg VERSION=$(VERSION) --tag $(IMAGE) .

image-check: ## what the image would hold, for amd64 and arm64: static, and in need of nothing beside it; the plugin for every platform
	LOCKSTEP_IMAGE=check $(GO) test -count=1 -timeout 20m -run 'TestTheImage' -v ./cmd/lockstep
	LOCKSTEP_IMAGE=check $(GO) test -count=1 -timeout 20m -run 'TestThePlugin' -v ./cmd/kubectl-lockstep

manifests: ## each overlay as one file in bin/manifests, for who has no kustomize
	@mkdir -p bin/manifests
	$(kustomize) manifests > bin/manifests/cluster-wide.yaml
	$(kustomize) manifests/overlays/webhooks > bin/manifests/webhooks.yaml
	$(kustomize) manifests/overlays/high-availability > bin/manifests/high-availability.yaml
	$(kustomize) manifests/overlays/single-namespace > bin/manifests/single-namespace.yaml
	$(kustomize) manifests/overlays/rollout-operator-role > bin/manifests/rollout-operator-role.yaml

clean: ## remove bin; the Kubernetes programs stay in the user's cache folder
	rm -rf bin

# The parts of check and generate.

format-check:
	@unformatted=$$($(GOFMT) -l .) && if [ -n "$$unformatted" ]; then \
	echo "not formatted (make fmt repairs it):" >&2; echo "$$unformatted" >&2; exit 1; fi

# CoreDNS takes minutes to compile, so nobody waits for its few lines unless they have changed.
vet lint-changed: dns = $(call changed,$(SUITES)/dns)
vet:
	$(GO) vet ./...
	cd $(SUITES) && $(GO) vet ./...
	$(if $(dns),cd $(SUITES)/dns && $(GO) vet ./...)

lint-changed: root = $(filter-out ./$(SUITES)/%,$(call changed,.))
lint-changed: suites = $(filter-out ./controlplane/% ./dns/%,$(call changed,$(SUITES)))
lint-changed:
	$(if $(root),$(lint) run $(root),@echo 'lint: no Go file of the operator has changed')
	$(if $(suites),cd $(SUITES) && $(lint) run $(suites),@echo 'lint: no Go file of the suites has changed')
	$(if $(dns),cd $(SUITES)/dns && $(lint) run $(dns),@echo 'lint: no Go file of the DNS server has changed')

unit:
	$(GO) test ./...

golden-files:
	$(GO) test $(golden_packages) -update

api:
	$(controller_gen) object crd paths=./internal/api/... output:crd:dir=manifests/crds

# One platform, so that everyone gets the same list.
deps:
	@deps=$$(GOOS=linux GOARCH=amd64 CGO_ENABLED=0 $(GO) list -tags grpcnotrace -deps \
		-f '{{if not .Standard}}{{.ImportPath}}{{end}}' ./cmd/lockstep) && \
	printf '%s\n' "$$deps" | LC_ALL=C sort > cmd/lockstep/deps.txt

.PHONY: help demo bench check fmt fix golden generate verify lint test explore sim mutants faults crashes storm monitoring e2e prop fuzz race cover build clean
.PHONY: image image-check manifests
.PHONY: format-check vet lint-changed unit api deps golden-files
