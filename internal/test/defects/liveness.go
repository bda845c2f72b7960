package main

// livenessDefects kept the service from doing its work.
var livenessDefects = []defect{
	{
		name:    "strangers-wait-for-locks",
		symptom: "A stranger's command waited ten seconds for the owner's lock before it was refused.",
		found:   byAttack, repair: "872e11cd4e", pkg: "internal/adapters/out/postgres", test: "TestStranger_IsRefusedWithoutWaitingForLocks",
		prints: "by a stranger: store unavailable",
		files:  []string{"internal/adapters/out/postgres/grant_test.go"},
	},
	{
		name:    "strangers-take-locks",
		symptom: "A stranger's command took the owner's locks, and the owner waited.",
		found:   byAttack, repair: "872e11cd4e", pkg: "internal/adapters/out/postgres", test: "TestStranger_TakesNoLocks",
		prints: "could not obtain lock on row",
		files:  []string{"internal/adapters/out/postgres/grant_test.go"},
	},
	{
		name:    "jobs-pile-up",
		symptom: "Scheduled jobs piled up behind one that hung.",
		found:   byFault, repair: "b8a4c70a92", pkg: "internal/adapters/in/jobs", test: "TestSchedule_DoesNotPileUpBehindAJobThatHangs",
		prints: "jobs wait",
		files:  []string{"internal/adapters/in/jobs/jobs_test.go"},
	},
	{
		name:    "ids-behind-a-stalled-connection",
		symptom: "One connection that stalled while it drew ids stopped all commands of the process.",
		found:   inReview, repair: "cd30f226f2", pkg: "internal/adapters/out/postgres", test: "TestIDs_AreDrawnByOthersWhileAConnectionStalls",
		prints: "deadline exceeded",
	},
	{
		name:    "dead-connections",
		symptom: "After a failover each idle connection failed one command.",
		found:   byFault, repair: "a02ee7084f", pkg: "internal/adapters/out/postgres", test: "TestDeadConnections_AreReplacedBeforeACommandBegins",
		prints: "57P01",
	},
	{
		name:    "dead-connection-before-it-began",
		symptom: "A connection that broke before the first answer failed the command, although nothing was written.",
		found:   byFault, repair: "a02ee7084f", pkg: "internal/adapters/out/postgres", test: "TestBrokenConnection_RunsATransactionOnceMoreOnlyBeforeItBegan",
		prints: "unexpected EOF",
	},
	{
		name:    "reservations-behind-other-jobs",
		symptom: "Reservations expired and stayed, because other jobs had all workers.",
		found:   byFault, repair: "b8a4c70a92", pkg: "internal/adapters/in/jobs", test: "TestSchedule_ReleasesReservationsWhileOtherJobsRun",
		prints: "not within 1m0s: reservations are released",
		files:  []string{"internal/adapters/in/jobs/jobs_test.go"},
	},
	{
		name:    "connections-without-a-bound",
		symptom: "Whoever opened connections without end used up the files of the process.",
		found:   byAttack, repair: "57ff8d85d4", pkg: "internal/test/e2e/limits", test: "TestConnections_BeyondTheLimitWait",
		prints: "a connection beyond the limit is served",
		edits: []edit{ // no setting bounds connections, and the admin listener serves no health
			{"internal/test/e2e/limits/connections_test.go", `"ORDERS_MAX_CONNECTIONS=2", `, ""},
			{"internal/test/e2e/limits/connections_test.go", `"http://" + admin}`, "p.URL}"},
		},
	},
	{
		name:    "panic-ends-the-relay",
		symptom: "A panic while an event was published ended the process.",
		found:   inReview, repair: "f0e793d450", pkg: "internal/outbox", test: "TestRelay_ContinuesAfterAPanic",
		prints: "panic: no such event",
		files:  []string{"internal/outbox/relay_test.go", "internal/outbox/fixture_test.go"},
	},
}
