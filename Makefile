# The version of the linter that .golangci.yml is written for.
GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(shell go env GOPATH)/bin/golangci-lint

.PHONY: generate build test fuzz lint loki e2e peers mutants held bench bench-peers check tools

generate: ## the generated Go of the templates
	go tool templ generate
	go tool templ fmt .

build: ## a static binary, without cgo
	CGO_ENABLED=0 go build -trimpath -o gapless .

test: ## what a bare machine with Go can run
	go test ./...

# How long each fuzz target runs.
FUZZTIME := 10m

fuzz: ## each fuzz target in turn, for FUZZTIME; an input that fails is left in the package's testdata/fuzz
	@set -e; for target in $$(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sort | sed 's|/[^/]*:func |:|'); do \
		echo "$$target for $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) "$${target%:*}"; \
	done

lint: tools
	go vet ./...
	go vet -tags "e2e peers" ./...
	$(GOLANGCI) run --allow-parallel-runners ./...

tools: ## the pinned linter, into GOPATH/bin
	@$(GOLANGCI) version 2>/dev/null | grep -qF "$(GOLANGCI_VERSION:v%=%)" || \
		go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

loki: .tools/loki ## Loki and logcli of the peer tests, into .tools; the first time it takes minutes

# A module of its own: nothing that Loki needs is part of the program.
.tools/loki: collectors/loki/peer/go.mod collectors/loki/peer/go.sum
	@mkdir -p .tools
	cd collectors/loki/peer && CGO_ENABLED=0 go build -o ../../../.tools/ tool
	@touch .tools/loki

e2e: ## the pages in a real browser; CHROMIUM names it
	go test -tags e2e -count=1 -timeout 15m -run '^TestBrowser' .

peers: ## the collectors against AWS's stand-in (GAPLESS_MOTO names moto_server), nginx, HAProxy and Loki (GAPLESS_LOKI, GAPLESS_LOGCLI)
	go test -tags peers -count=1 -timeout 10m -run '^TestPeer' ./...

# Where nothing survives CI keeps it so: the rules, the verdict and what they rest on.
# These files are not held by tests to that point yet.
UNHELD := bluegreen.go metrics.go proberecord.go steps.go \
	targetreports.go targets.go
HELD = '*.go' $(UNHELD:%='!%')
MUTATED := '*.go'

mutants: ## conditions, bounds and signs of the judge that no test holds in place; MUTATED names the files
	go run ./analysis/mutants $(MUTATED)

held: ## the same where none is left, in a minute or two
	go run ./analysis/mutants $(HELD)

bench:
	go test -run '^$$' -bench . -benchmem ./...

DUCKDB_VERSION := 1.5.6-r.1

bench-peers: ## log ingest against gunzip, DuckDB and GoAccess: the README's table; needs npm and goaccess
	@mkdir -p .tools/bench/node
	@cd .tools/bench/node && { grep -qsF '"$(DUCKDB_VERSION)"' package.json || \
		{ echo '{"private":true}' >package.json && npm install --no-fund --no-audit --save-exact @duckdb/node-api@$(DUCKDB_VERSION); }; }
	go run ./benchpeers -dir .tools/bench

check: ## what CI runs
	.ci/run
