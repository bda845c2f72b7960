// Package deploy compares the files in deploy/ with the service: the settings, the ports, the
// probes and the time that a stop takes. Its tests have the build tag deploy, because they
// build kustomize and validators of Kubernetes and Compose: `make deploy-check` runs them.
package deploy
