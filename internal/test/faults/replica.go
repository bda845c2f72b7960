package faults

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// Replica is a process of the service. It keeps its address when it is started again.
type Replica struct {
	Endpoint

	env      *e2e.Env
	binary   string
	settings []string
	process  *e2e.Process
	// processes are all that were started, the last one included.
	processes []*e2e.Process
}

// Start starts the process and waits until it is ready.
func (r *Replica) Start(t testing.TB) {
	t.Helper()
	r.process = r.env.StartProcess(t, r.binary, r.settings...)
	r.processes = append(r.processes, r.process)
}

// Log returns what all processes of the replica have written.
func (r *Replica) Log() string {
	var log strings.Builder
	for _, p := range r.processes {
		log.WriteString(p.Log())
	}
	return log.String()
}

// Kill ends the process at once (SIGKILL).
func (r *Replica) Kill() { r.process.Kill() }

// Terminate asks the process to stop (SIGTERM), and returns where its end is reported.
func (r *Replica) Terminate(t testing.TB) <-chan error {
	t.Helper()
	return r.process.Terminate(t)
}

// WantEnd waits for the end of a process that was asked to stop. It must be a success.
func (r *Replica) WantEnd(t testing.TB, ended <-chan error) {
	t.Helper()
	r.process.WantEnd(t, ended, e2e.Patience)
}

// Pause stops the process (SIGSTOP) until Resume. It keeps its connections.
func (r *Replica) Pause(t testing.TB) {
	t.Helper()
	r.process.Pause(t)
}

// Resume continues a paused process.
func (r *Replica) Resume(t testing.TB) {
	t.Helper()
	r.process.Signal(t, syscall.SIGCONT)
}

// awaitReady waits until the replica is ready.
func (r *Replica) awaitReady(t testing.TB) {
	t.Helper()
	e2e.Eventually(t, "a replica is ready", r.isReady)
}

// isReady reports whether the replica answers and is ready.
func (r *Replica) isReady() bool {
	resp, err := http.Get(r.URL + "/health/ready") //nolint:noctx // a test ends after a while in any case
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
