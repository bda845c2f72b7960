// Package alerts breaks the running service, and a real Prometheus must raise the alerts of
// deploy/prometheus. It also draws the panels of deploy/grafana with real data. Its tests have
// the build tag prometheus, because they need Prometheus: `make test-alerts` runs them.
package alerts
