// Package deploy compares the files in deploy/ with the service: settings, ports,
// probes and stop timeouts. Its tests have the build tag deploy, because they build
// kustomize and validators for Kubernetes and Compose: `make -C lab deploy` runs them.
// `make -C lab image` also builds the image from deploy/Containerfile and runs it, which
// needs buildah and root.
package deploy
