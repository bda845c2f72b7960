// Package faults is the fault run: clients that retry, and behave badly, work on replicas of
// the service while something breaks, and afterwards every promise of AUTH-19 is checked.
//
// A run is a seed, a workload, a fault, a history and the checks over it:
//
//   - [Run] starts a [System] and the clients, and lets the [Fault] strike.
//   - Each attempt of a client is a line of the history.
//   - When the fault is over, the clients retry until each operation is decided.
//   - The checks compare the history, the database, the card provider and the stream.
//   - The counters prove that the fault happened: without them, success means nothing.
//
// [RunOnCluster] does the same on a cluster, and breaks its nodes instead.
//
// The seed decides what is sent and when the fault strikes. It is printed, with the command
// that runs it again.
package faults
