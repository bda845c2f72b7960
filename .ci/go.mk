# What the Makefiles of the product and of the lab share.

# The race detector needs cgo, which Go enables where it finds a C compiler. Everything else is
# built without it, so that tests, tools and copies share what is compiled.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED 2>/dev/null)),-race)
export CGO_ENABLED := 0
# Run 4 tests of a package in parallel even on fewer CPUs: they are I/O-bound. Without go vet,
# which would read all dependencies: make lint includes it.
TESTFLAGS = -vet=off -shuffle=on -parallel=4 -timeout=10m

# Build with the Go that go.mod names, also where the installed one is older and set to stay
# (as in the images of Docker): a patch release closes known holes. The first download may take
# a while. Where it cannot be fetched, say so and use the installed one, as
# `make GOTOOLCHAIN=local …` does.
ifneq ($(shell command -v go),)
ifeq ($(MAKELEVEL),0)
ifneq ($(origin GOTOOLCHAIN),command line)
export GOTOOLCHAIN := $(if $(shell \
	while sleep 4; do echo "downloading Go …"; done >&2 & \
	GOTOOLCHAIN=auto go version 2>/dev/null; kill $$!),auto,local)
ifeq ($(GOTOOLCHAIN),local)
$(warning NOT UPDATED: $(shell sed -n 's/^toolchain //p' go.mod) cannot be fetched; going on with $(shell cd / && GOTOOLCHAIN=local go env GOVERSION))
endif
endif
endif
endif

.DEFAULT_GOAL := help
.PHONY: help need-go

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make $(HELP_FLAGS)%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

need-go:
	@command -v go >/dev/null || { echo "Go is not installed: install Go 1.26 or newer from https://go.dev/dl"; exit 1; }
	@go list -m >/dev/null 2>&1 || { echo "Go 1.26 or newer is required, this is $$(cd / && go version): https://go.dev/dl"; exit 1; }
