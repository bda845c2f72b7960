package main

// check is a search of the state space of a model.
type check struct {
	model, what string
	// macros are defined for the model.
	macros []string
	// sound is what the search must show. Otherwise it must find a violation.
	sound bool
	// liveness searches for executions that go on for ever without the end that is wanted,
	// instead of violated assertions and deadlocks.
	liveness bool
	// covers requires that executions reach every step of the model.
	covers bool
}

// checks are the models, whole, and each without one protection.
var checks = []check{
	{model: "guard", what: "asynchronous standby", sound: true, covers: true},
	{model: "guard", what: "synchronous standby", macros: []string{"STANDBY"}, sound: true, covers: true},
	{model: "guard", what: "3 attempts, no failover", macros: []string{"ATTEMPTS=3", "FAILOVERS=0"}, sound: true},
	{model: "guard", what: "no unique index", macros: []string{"NO_UNIQUE_INDEX"}},
	{model: "guard", what: "response stored after COMMIT", macros: []string{"RESPONSE_AFTER_COMMIT"}},
	{model: "guard", what: "record looked up before the lock", macros: []string{"LOOKUP_BEFORE_LOCK"}},
	{model: "guard", what: "memory never forgotten", macros: []string{"MEMORY_NEVER_FORGOTTEN"}},
	{model: "guard", what: "replay without the standby", macros: []string{"STANDBY", "REPLAY_BEFORE_STANDBY"}},
	{model: "guard", what: "no primary key of the record", macros: []string{"NO_PRIMARY_KEY", "FAILOVERS=0"}, sound: true},

	{model: "card", what: "one fault", sound: true, covers: true},
	{model: "card", what: "every intent is settled", macros: []string{"WORKERS=1"}, sound: true, liveness: true},
	{model: "card", what: "no provider key", macros: []string{"NO_PROVIDER_KEY"}},
	{model: "card", what: "no row lock", macros: []string{"NO_ROW_LOCK"}},
	{model: "card", what: "again from the job's attempt", macros: []string{"AGAIN_FROM_ATTEMPT"}},
	{model: "card", what: "settled without the amount", macros: []string{"SETTLE_WITHOUT_AMOUNT"}},

	{model: "outbox", what: "two faults", sound: true, covers: true},
	{model: "outbox", what: "every event is processed", macros: []string{"FAULTS=1"}, sound: true, liveness: true},
	{model: "outbox", what: "marked before it is published", macros: []string{"MARK_BEFORE_PUBLISH"}, liveness: true},
	{model: "outbox", what: "published without the standby", macros: []string{"PUBLISH_BEFORE_STANDBY"}},
	{model: "outbox", what: "no inbox", macros: []string{"NO_INBOX"}},
}
