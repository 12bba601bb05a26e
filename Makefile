# What one does with lockstep. Go, git and make are all it takes; `make` alone
# prints the list, made from the comments beside the targets.

GO       ?= go
GOFMT     = "$$($(GO) env GOROOT)/bin/gofmt"
SUITES    = integration-tests
GOLANGCI  = .tools/golangci-lint/go.mod

# Without C everywhere, so that tests, operator and control plane share what is
# compiled of the standard library.
export CGO_ENABLED ?= 0

# Suites wait more than they compute: two packages at a time suit two cores.
SUITES_FLAGS ?= -count=1 -p 2 -parallel 4 -timeout 30m

# The cluster's own package goes first, alone and from its own folder: go test
# then shows at once what is printed while the Kubernetes programs are built.
suite_packages = $(shell cd $(SUITES) && $(GO) list ./...)

# Linting one module: from its own folder, with the linter of this commit.
lint = $(GO) tool -modfile=$(CURDIR)/$(GOLANGCI) golangci-lint

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

help:
	@while IFS= read -r line; do case $$line in \
	"##@ "*) printf '\n%s\n' "$${line#"##@ "}" ;; \
	[a-z]*": "*"## "*) printf '  make %-10s %s\n' "$${line%%:*}" "$${line#*"## "}" ;; \
	esac; done < Makefile

##@ See it work

demo: ## roll three zones in two namespaces on a local cluster; DEMO_KEEP=1 leaves it running
	cd $(SUITES) && $(GO) run ./demo

bench: ## time lockstep beside the floor: a bare loop that deletes the next pod
	cd $(SUITES) && $(GO) run ./bench

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

generate: deps golden-files ## everything that is made from code: documents, RBAC, golden files, list of linked packages

##@ Before a merge

verify: ## generated files are up to date
	@MAKE="$(MAKE)" sh .ci/verify

lint: ## all linters over everything
	$(lint) run ./...
	cd $(SUITES) && $(lint) run ./...

test: ## all tests: units, properties, scenarios, a small exploration, then the suites on local clusters
	$(GO) test ./...
	cd $(SUITES)/localcluster && $(GO) test $(SUITES_FLAGS)
	cd $(SUITES) && $(GO) test $(SUITES_FLAGS) $(filter-out %/localcluster,$(suite_packages))

##@ Longer and deeper

explore: ## every history of planner and hold in a small world, wider than make test; prints the number of states
	LOCKSTEP_EXPLORE=full $(GO) test ./internal/sim -run TestExplore -v -count=1 -timeout 60m

prop: ## property tests with RAPID_CHECKS cases each (10000)
	RAPID_CHECKS=$${RAPID_CHECKS:-10000} $(GO) test -count=1 -timeout 60m $(property_packages)

race: ## unit tests with the race detector; the one target that needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -timeout 20m ./...

cover: ## unit tests' coverage by room, then as a whole
	@mkdir -p bin
	$(GO) test -coverprofile=bin/cover.out ./internal/...
	@$(GO) tool cover -func=bin/cover.out | tail -n 1

##@ Products

build: ## the operator, static, as bin/lockstep
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/...

clean: ## remove bin; the Kubernetes programs stay in the user's cache folder
	rm -rf bin

# The parts of check and generate.

format-check:
	@unformatted=$$($(GOFMT) -l .) && if [ -n "$$unformatted" ]; then \
	echo "not formatted (make fmt repairs it):" >&2; echo "$$unformatted" >&2; exit 1; fi

vet:
	$(GO) vet ./...
	cd $(SUITES) && $(GO) vet ./...

lint-changed: root = $(filter-out ./$(SUITES)/%,$(call changed,.))
lint-changed: suites = $(filter-out ./controlplane/%,$(call changed,$(SUITES)))
lint-changed:
	$(if $(root),$(lint) run $(root),@echo 'lint: no Go file of the operator has changed')
	$(if $(suites),cd $(SUITES) && $(lint) run $(suites),@echo 'lint: no Go file of the suites has changed')

unit:
	$(GO) test ./...

golden-files:
	$(GO) test $(golden_packages) -update

# One platform, so that everyone gets the same list.
deps:
	@deps=$$(GOOS=linux GOARCH=amd64 CGO_ENABLED=0 $(GO) list -deps \
		-f '{{if not .Standard}}{{.ImportPath}}{{end}}' ./cmd/lockstep) && \
	printf '%s\n' "$$deps" | LC_ALL=C sort > cmd/lockstep/deps.txt

.PHONY: help demo bench check fmt fix golden generate verify lint test explore prop race cover build clean
.PHONY: format-check vet lint-changed unit deps golden-files
