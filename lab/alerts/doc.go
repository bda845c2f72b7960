// Package alerts breaks the running service, and a real Prometheus must raise the
// alerts in deploy/prometheus. The panels in deploy/grafana must show its data. `make
// -C lab alerts` runs the tests, which have the build tag prometheus.
package alerts
