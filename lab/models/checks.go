package main

// check is a search through the state space of a model.
type check struct {
	model, what string
	// macros are defined for the model.
	macros []string
	// sound is the expected result: no violation. Otherwise the search must find one.
	sound bool
	// liveness searches for infinite executions that miss the wanted end, instead of
	// violated assertions and deadlocks.
	liveness bool
	// covers requires that executions reach every model step.
	covers bool
}

// checks are the whole models, and each model without one protection.
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

	{model: "group", what: "one key sent twice", sound: true},
	{model: "group", what: "two units", macros: []string{"UNITS=2"}, sound: true},
	{model: "group", what: "three keys", macros: []string{"KEYS=3"}, sound: true, covers: true},
	{model: "group", what: "row and version unprotected", macros: []string{"NO_ROW_LOCK", "NO_VERSION_CHECK"}},
	{model: "group", what: "row written without its load", macros: []string{"NOT_JOINED_WRITES"}},
	{model: "group", what: "member runs with a held key", macros: []string{"HELD_KEY_RUNS"}},
	{model: "group", what: "refused member keeps its changes", macros: []string{"REFUSED_KEEPS_CHANGES"}},
	{model: "group", what: "result told before COMMIT", macros: []string{"TOLD_BEFORE_COMMIT"}},
	{model: "group", what: "unknown COMMIT runs again", macros: []string{"UNKNOWN_RUNS_AGAIN"}},
	{model: "group", what: "deadline told as no effect", macros: []string{"GONE_IS_FAILED"}},
	{model: "group", what: "second half lost in a split", macros: []string{"SECOND_HALF_LOST"}},
	{model: "group", what: "mark never removed", macros: []string{"MARK_NEVER_REMOVED"}},
	{model: "group", what: "only the version protects the row", macros: []string{"NO_ROW_LOCK"}, sound: true},

	{model: "card", what: "two workers", macros: []string{"FAULTS=2"}, sound: true},
	{model: "card", what: "two receivers", macros: []string{"FAULTS=2", "WORKERS=1", "RECEIVERS=2"}, sound: true, covers: true},
	{model: "card", what: "every intent is settled", macros: []string{"WORKERS=1"}, sound: true, liveness: true},
	{model: "card", what: "no provider key", macros: []string{"NO_PROVIDER_KEY"}},
	{model: "card", what: "no row lock", macros: []string{"NO_ROW_LOCK"}},
	{model: "card", what: "again from the job's attempt", macros: []string{"AGAIN_FROM_ATTEMPT"}},
	{model: "card", what: "settled without the amount", macros: []string{"SETTLE_WITHOUT_AMOUNT"}},
	{model: "card", what: "lost job never restored", macros: []string{"JOB_NEVER_RESTORED"}},

	{model: "outbox", what: "two faults", sound: true, covers: true},
	{model: "outbox", what: "every event is processed", macros: []string{"FAULTS=1"}, sound: true, liveness: true},
	{model: "outbox", what: "marked before it is published", macros: []string{"MARK_BEFORE_PUBLISH"}},
	{model: "outbox", what: "published without the standby", macros: []string{"PUBLISH_BEFORE_STANDBY"}},
	{model: "outbox", what: "no inbox", macros: []string{"NO_INBOX"}},
}
