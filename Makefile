# Every target needs only Go and make; `make` lists them. tools.mod pins the tools. Where
# PostgreSQL is missing and apt-get may install it, the first start does so.
# `make -C lab` lists the experiments.

include .ci/go.mk
.PHONY: run new test test-race fuzz bench lint format generate generated compatible security check

TOOL := go tool -modfile=tools.mod
REDOCLY := @redocly/cli@2.77.0

# Pinned by their own modules: next to golangci-lint in tools.mod they do not build.
GITLEAKS := go run github.com/zricethezav/gitleaks/v8@v8.30.1
ACTIONLINT := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
OASDIFF := go run github.com/oasdiff/oasdiff@v1.35.0

# The files that `make generate` writes.
GENERATED := internal/adapters/in/http/wire/models.gen.go internal/adapters/out/postgres/dbsqlc \
	kit/client/api/api.gen.go kit/client-ts/src/api.gen.ts docs/problems.md \
	kit/guard/examples/bankdb docs/configuration.md lab/evidence.md docs/events.md docs/metrics.md docs/runbook.md

# Runs a command with one PostgreSQL cluster, which the packages of a test run share.
CLUSTER = go build -o bin/testcluster ./internal/test/pg/cluster && bin/testcluster

# A separate module. Its packages are tested with those of the service.
GUARD = example.com/orders/kit/guard

run: need-go ## start the service and all that it needs; no configuration, Ctrl-C stops it
	@echo "Building orders-dev; the first build takes a minute or two …"
	@.ci/build bin/orders-dev ./cmd/orders-dev
	@bin/orders-dev

new: need-go ## copy this service: MODULE=example.com/tickets DIR=../tickets
	@go run ./internal/new -module "$(MODULE)" -dir "$(DIR)"

test: need-go ## run all tests
	$(CLUSTER) go test $(TESTFLAGS) ./... $(GUARD)/...
	$(CLUSTER) go -C kit/giftcards test $(TESTFLAGS) ./...

# Where goroutines share something in the process of the test. The rest of the tests runs the
# same code, or starts the service as another process, which the detector does not see.
RACE_PACKAGES = ./cmd/... ./internal/adapters/... $(GUARD)/... ./internal/outbox/... \
	./internal/observe/... ./internal/test/e2e/guard ./internal/test/e2e/limits \
	./internal/test/e2e/transport ./internal/test/e2e/webhooks \
	./internal/test/store

# The skipped test kills processes of its own build.
test-race: need-go ## run the tests of concurrent code with the race detector
	@$(if $(RACE),,echo "No C compiler: the tests run without the race detector.")
	$(CLUSTER) env $(if $(RACE),CGO_ENABLED=1) go test $(RACE) -skip=TestCommands_PassEveryProbe $(TESTFLAGS) $(RACE_PACKAGES)

# Inputs are hardly minimized: with a coverage to keep, that takes most of the time.
FUZZTIME = 10s
fuzz: need-go ## fuzz each target for FUZZTIME=10s
	@grep -rEo '^func Fuzz[A-Za-z]+' --include='*_test.go' internal kit | sed 's/[^/]*:func / /' | \
	while read -r dir target; do \
		echo "== $$target"; \
		$(CLUSTER) go -C "$$dir" test . -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
	done

bench: ## compare the service with a pgbench baseline, about 17 minutes
	@$(MAKE) --no-print-directory -C lab bench

lint: need-go ## run the linters, check the format, the modules, the contract and the workflow of CI
	$(TOOL) golangci-lint run ./...
	cd kit/guard && go tool -modfile=../../tools.mod golangci-lint run ./...
	cd kit/giftcards && go tool -modfile=../../tools.mod golangci-lint run ./...
	go mod tidy -diff
	go -C kit/guard mod tidy -diff
	go -C kit/giftcards mod tidy -diff
	$(ACTIONLINT) -shellcheck=
	@if command -v npx >/dev/null; then \
		REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx --yes $(REDOCLY) lint; \
	else \
		echo "NOT CHECKED: linting the files in api/ needs npx, which comes with Node.js"; \
	fi

format: need-go ## format the code
	$(TOOL) golangci-lint fmt

generate: need-go ## generate code from api/openapi.yaml and from the SQL
	$(TOOL) sqlc generate
	go -C kit/client generate ./...
	@if command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory kit/client-ts/node_modules && npm run --prefix kit/client-ts --silent generate; \
	else \
		echo "NOT CHECKED: generating kit/client-ts/src/api.gen.ts needs npm, which comes with Node.js"; \
	fi
	go generate ./... # last, because pages name generated code

# Generates the files and compares them with those that were there.
generated: need-go ## check that the generated code is up to date
	@before=$$(mktemp -d) && trap 'rm -rf "$$before"' EXIT && cp -R $(GENERATED) "$$before" && \
	$(MAKE) --no-print-directory generate && \
	for path in $(GENERATED); do \
		diff -r "$$before/$$(basename "$$path")" "$$path" || \
		{ echo "$$path was out of date and has been generated anew"; exit 1; }; \
	done

# A release copies its contract to api/released. accepted.txt lists what breaks on purpose,
# with an entry of the changelog.
compatible: need-go ## check that api/openapi.yaml breaks no client of the last release
	$(OASDIFF) breaking --fail-on=WARN --err-ignore=api/released/accepted.txt api/released/openapi.yaml api/openapi.yaml

# govulncheck exits with 3 when it finds something.
security: need-go ## search the whole history for secrets, and the code for known vulnerabilities
	$(GITLEAKS) git --no-banner --redact --verbose --log-level=warn --config .gitleaks.toml .
	@! git ls-files | grep --extended-regexp '\.(pem|key|p12|pfx|jks|env)$$' || \
		{ echo "files with these names contain secrets"; exit 1; }
	@found=$$($(TOOL) govulncheck ./... 2>&1) && echo "$$found" || { \
		code=$$?; echo "$$found"; \
		echo "$$found" | grep -q 'fetching vulnerabilities' || exit $$code; \
		echo "NOT CHECKED: the database of vulnerabilities cannot be reached"; \
	}

check: lint generated compatible security ## check everything except the tests

kit/client-ts/node_modules: kit/client-ts/package.json kit/client-ts/package-lock.json
	npm ci --prefix kit/client-ts --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
