// Package faults contains the fault run: retrying and misbehaving clients use several
// replicas while something breaks. Afterwards the run checks every promise in AUTH-19.
//
// A run has a seed, a workload, a fault, a history and checks:
//
//   - [Run] starts a [System] and the clients, and lets the [Fault] strike.
//   - Each client attempt is a line in the history.
//   - After the fault, the clients retry until each operation is decided.
//   - The checks compare the history, the database, the card provider and the stream.
//   - The counters prove that the fault happened: without them, success means nothing.
//
// [RunOnCluster] does the same on a cluster, and breaks its nodes instead. [RunUpgrade]
// replaces its replicas.
//
// The seed decides the requests and the time of the strike. The run prints it with the
// command that repeats the run.
package faults
