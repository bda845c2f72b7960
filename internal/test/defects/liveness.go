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
	{
		name:    "reads-behind-waiting-commands",
		symptom: "While commands waited for a standby that was gone, reads got no connection and every replica became unready.",
		found:   byFault, repair: "2f97dbfa25", pkg: "internal/test/e2e/process", test: "TestReads_GoOnWhileCommandsWaitForTheStandby",
		prints: ": 503 unavailable, want 200",
		files:  []string{"internal/test/e2e/process/database_test.go"},
	},
	{
		name:    "reservations-behind-broken-orders",
		symptom: "500 orders that could not be released kept the stock of all younger ones reserved.",
		found:   inReview, repair: "063332f26f", pkg: "internal/test/e2e/process", test: "TestJobs_BrokenOrdersDoNotFillTheBatches",
		prints: "not within 20s: the intact order is released",
		files:  []string{"internal/test/e2e/process/jobs_test.go"},
		edits: []edit{
			shorterWait,
			{"internal/test/e2e/process/jobs_test.go", "jobs.InOrder(e2e.OrderService(db).ReleaseExpiredReservations)", "e2e.OrderService(db).ReleaseExpiredReservations"},
			{"internal/test/e2e/process/jobs_test.go", "_, n, err := e2e.OrderService(s.OpenStore(t)).ReleaseExpiredReservations(t.Context(), order.Expiry{}, 10)", "n, err := e2e.OrderService(s.OpenStore(t)).ReleaseExpiredReservations(t.Context(), 10)"},
			{"internal/test/e2e/process/jobs_test.go", "\t\"example.com/orders/internal/core/order\"\n", ""},
		},
	},
	{
		name:    "one-principal-takes-all-connections",
		symptom: "Beside 200 clients of one principal on one order, the look-up of a key by somebody else took 500 times as long.",
		found:   byAttack, repair: "4037ef49b5", pkg: "internal/test/e2e/limits", test: "TestCommands_OfOnePrincipalLeaveConnectionsToOthers",
		prints: "POST /orders: status 503, want 201",
	},
	{
		name:    "plans-of-empty-tables",
		symptom: "Plans that were made for an empty table read all of it when it had grown.",
		found:   inReview, repair: "75d6de4754", pkg: "internal/adapters/out/postgres", test: "TestAKeyIsFoundByIndexInATableThatWasEmpty",
		prints: "'idempotency_record_pkey' did not come to 2", now: "internal/adapters/out/postgres.TestEveryQueryReadsLittleOfLargeTables",
	},
	{
		name:    "clean-up-reads-the-table",
		symptom: "Clean-up read the whole table for each batch and cost a third of the throughput.",
		found:   byTest, repair: "b0af9f6400", pkg: "internal/adapters/out/postgres", test: "TestCleanUpReadsOnlyWhatItRemoves",
		prints: "rows were read to remove 10",
	},
	{
		name:    "pages-read-the-table",
		symptom: "A page of products or of the audit log read everything before it.",
		found:   inReview, repair: "f523551ed1", pkg: "internal/adapters/out/postgres", test: "TestEveryQueryReadsLittleOfLargeTables",
		prints: "ListProducts('2026-01-01 03:00:00+00', 0, 21) read 9222 rows",
		files:  []string{"internal/adapters/out/postgres/queryplan_cases_test.go", "internal/adapters/out/postgres/queryplan_test.go"},
		from:   "f90f9c699e",
		// It reads the plans of the two lists only, because the repair changed the
		// parameters of other queries.
		edits: []edit{{
			"internal/adapters/out/postgres/queryplan_test.go", "checkThatEachHasACase(t, queries)\n\n",
			"maps.DeleteFunc(queries, func(name, _ string) bool { return name != \"ListProducts\" && name != \"ListAuditEntries\" })\n\n",
		}},
	},
}

// shorterWait ends a test sooner that waits in vain before the repair. A wait counts its
// checks, and a machine in use takes minutes for those of a whole minute.
var shorterWait = edit{"internal/test/wait/testwait.go", "Patience = time.Minute", "Patience = 20 * time.Second"}
