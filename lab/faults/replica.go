package faults

import (
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// ready is the path of the readiness check.
const ready = "/health/ready"

// Replica is a service process. A restart keeps its address.
type Replica struct {
	Endpoint

	env      *e2e.Env
	binary   string
	settings []string
	// process is the running one.
	process *e2e.Process
	// processes are all processes so far.
	processes []*e2e.Process
}

// Start starts the process and waits until it is ready.
func (r *Replica) Start(t testing.TB) {
	t.Helper()
	r.process = r.env.StartProcess(t, r.binary, r.settings...)
	r.processes = append(r.processes, r.process)
}

// Log returns the output from all the replica's processes.
func (r *Replica) Log() string {
	var log strings.Builder
	for _, p := range r.processes {
		log.WriteString(p.Log())
	}
	return log.String()
}
