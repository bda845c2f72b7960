# Everything needs Go and make only. Tools come pinned from tools.mod; PostgreSQL is the system's, and is installed
# when it is missing and this may be done. `make` lists the targets.

# Tools are built without cgo, so that no C compiler is needed.
TOOL := CGO_ENABLED=0 go tool -modfile=tools.mod
REDOCLY := @redocly/cli@2.77.0

# What `make generate` writes.
GENERATED := internal/adapters/in/http/wire/models.gen.go internal/adapters/out/postgres/dbsqlc

# The race detector needs a C compiler; Go itself says whether there is one.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
# Tests wait more than they compute, so more of them run at once than there are processors on a small machine.
TESTFLAGS = $(RACE) -shuffle=on -parallel=4 -timeout=10m

.DEFAULT_GOAL := help
.PHONY: help run test bench bench-growth lint format generate check format-check vet architecture generated openapi tidy-check need-go

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: need-go ## start the service with all it needs: no configuration, Ctrl-C ends it
	@go build -o bin/orders-dev ./cmd/orders-dev
	@bin/orders-dev

test: need-go ## all tests, beside one PostgreSQL cluster of their own
	@$(if $(RACE),,echo "No C compiler: the tests run without the race detector.")
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test $(TESTFLAGS) ./...

bench: need-go ## the service against the limit of this machine, about 12 minutes
	go run ./bench -svg docs/benchmark.svg -md docs/benchmark.md

bench-growth: need-go ## the service on a large database and beside clean-up
	go run ./bench -growth -md docs/growth.md

lint: need-go ## the linters of .golangci.yml
	$(TOOL) golangci-lint run ./...

format: need-go ## format the code
	$(TOOL) golangci-lint fmt

generate: need-go ## make the code that comes from api/openapi.yaml and from the SQL
	$(TOOL) sqlc generate
	CGO_ENABLED=0 go generate ./...

check: format-check vet lint architecture tidy-check generated openapi ## all that is checked beside the tests

format-check: need-go
	$(TOOL) golangci-lint fmt --diff

vet: need-go
	go vet ./...

architecture: need-go ## which package may know which
	go test ./internal/test/architecture

tidy-check: need-go
	go mod tidy -diff

# The generated files are made again and compared with what was there.
generated: need-go
	@before=$$(mktemp -d) && trap 'rm -rf "$$before"' EXIT && cp -R $(GENERATED) "$$before" && \
	$(MAKE) --no-print-directory generate && \
	for path in $(GENERATED); do \
		diff -r "$$before/$$(basename "$$path")" "$$path" || \
		{ echo "$$path was out of date and has been made again"; exit 1; }; \
	done

openapi: ## lint the contract
	@if command -v npx >/dev/null; then \
		REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx --yes $(REDOCLY) lint; \
	else \
		echo "NOT CHECKED: api/openapi.yaml is linted by a Node program, and there is no npx"; \
	fi

need-go:
	@command -v go >/dev/null || { echo "Go is not installed: get Go 1.26 or newer from https://go.dev/dl"; exit 1; }
	@go list -m >/dev/null 2>&1 || { echo "Go 1.26 or newer is needed, this is $$(cd / && go version): https://go.dev/dl"; exit 1; }
