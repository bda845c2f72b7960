package main

const (
	relay    = "./internal/outbox"
	consumer = "./internal/adapters/in/events"
	broker   = "./internal/adapters/out/nats"
)

// messageMutants are what the outbox and the inbox promise (R-DIST-OBX, R-DIST-IDEM-1).
var messageMutants = []mutant{
	{
		"an event is marked after the broker has it",
		"internal/outbox/relay.go",
		`acked, err := r.Publisher.Publish(leased, events)`, `for _, e := range events { _ = r.mark(ctx, []uuid.UUID{e.ID}) }; acked, err := r.Publisher.Publish(leased, events)`,
		relay, "TestRelay_KeepsEventsWhileTheBrokerIsDown",
	},
	{
		"what was acknowledged is marked even after a failure",
		"internal/outbox/relay.go",
		`return len(events), errors.Join(err, r.mark(ctx, acked))`, `if err != nil { return 0, err }; return len(events), errors.Join(r.mark(ctx, acked))`,
		relay, "TestRelay_MarksWhatWasAcknowledgedBeforeAFailure",
	},
	{
		"events are read by their mark and not by the last id",
		"internal/adapters/out/postgres/dbsqlc/outbox.sql.go",
		"WHERE published_at IS NULL\nORDER BY id", "WHERE published_at IS NULL AND id > coalesce((SELECT max(id) FROM outbox WHERE published_at IS NOT NULL), 0)\nORDER BY id",
		relay, "TestRelay_PublishesALowerIDThatCommitsLater",
	},
	{
		"an event that is published twice keeps its id",
		"internal/adapters/out/nats/publisher.go",
		`jetstream.WithMsgID(e.ID.String()), `, ``,
		relay, "TestRelay_PublishesUnderTheSameIDWhenAMarkIsLost",
	},
	{
		"events of one aggregate are sent one after another",
		"internal/adapters/out/nats/publisher.go",
		`n := seen[e.Aggregate]`, `n := 0 * seen[e.Aggregate]`,
		broker, "TestPublish_KeepsTheOrderOfAnAggregateAfterAFailure",
	},
	{
		"one replica relays at a time",
		"internal/adapters/out/postgres/dbsqlc/outbox.sql.go",
		`WHERE holder = $1 OR until <= clock_timestamp()`, `WHERE holder = $1 OR true`,
		store, "TestOutboxLease_HasOneHolder",
	},
	{
		"events that were not published are kept",
		"internal/adapters/out/postgres/dbsqlc/outbox.sql.go",
		`AND o.published_at <= statement_timestamp() - make_interval(secs => $2)`, `AND o.created_at <= statement_timestamp() + make_interval(secs => $2)`,
		store, "TestOutboxDeletePublished_DeletesOldPublishedEventsOnly",
	},
	{
		"an event of a restored database has a new source",
		"internal/adapters/out/postgres/outbox.go",
		`Source: sourcePrefix + row.Incarnation.String(),`, `Source: sourcePrefix,`,
		relay, "TestRelay_PublishesWhatARestoredDatabaseWrites",
	},
	{
		"an event commits with its change",
		"internal/adapters/out/postgres/outbox.go",
		`return s.t.write(ctx, addedEvent{`, `return dbsqlc.New(s.t.db.pool).InsertEvent(ctx, dbsqlc.InsertEventParams{`,
		store, "TestStore",
	},
	{
		"a message takes effect once",
		"internal/core/order/restock.go",
		`if err != nil || !first {`, `if err != nil || !first && false {`,
		consumer, "TestConsumer_CountsAMessageOnceWhenItsAcknowledgementIsLost",
	},
	{
		"a message takes effect once, whichever replica gets it",
		"internal/core/order/restock.go",
		`first, err = tx.Inbox.FirstTime(ctx, cmd.Source, cmd.MessageID)`, `first = true`,
		consumer, "TestConsumer_CountsAMessageOnceOnTwoReplicas",
	},
	{
		"the broker authenticates us",
		"internal/adapters/out/nats/connect.go",
		`conn, err := client.Connect(brokerURLs,`, `u, _ := url.Parse(brokerURLs); u.User = nil; conn, err := client.Connect(u.String(),`,
		broker, "TestConnect_AuthenticatesAtTheBroker",
	},
	{
		"a message is recorded with its effect",
		"internal/adapters/out/postgres/inbox.go",
		`return true, s.t.writes().InsertMessage(`, `return true, dbsqlc.New(s.t.db.pool).InsertMessage(`,
		consumer, "TestConsumer_RecordsNoMessageWithoutItsEffect",
	},
	{
		"senders cannot take the ids of others",
		"internal/adapters/in/events/restocked.go",
		`return "events " + source`, `return "events"`,
		consumer, "TestConsumer_TellsEventsOfDifferentSourcesApart",
	},
	{
		"a message is acknowledged after its effect",
		"internal/adapters/in/events/handle.go",
		`cmd, err := decode(msg)`, `_ = msg.Ack(); cmd, err := decode(msg)`,
		consumer, "TestConsumer_RetriesWithBackoffAfterATemporaryFailure",
	},
	{
		"a message is kept until its dead letter is stored",
		"internal/adapters/in/events/deadletter.go",
		`return fmt.Errorf("publish a dead letter to %s: %w", DeadLetterStream, err)`, `return msg.Term()`,
		consumer, "TestConsumer_KeepsAMessageUntilItsDeadLetterIsStored",
	},
	{
		"a message that can never be processed is dead-lettered",
		"internal/adapters/in/events/handle.go",
		`return "dead_letter", c.deadLetter(ctx, msg, bad)`, `_ = bad; return "dead_letter", msg.Ack()`,
		consumer, "TestConsumer_DeadLettersWhatCanNeverBeProcessed",
	},
	{
		"a dead letter has a bounded size",
		"internal/adapters/in/events/deadletter.go",
		`msg.Data()[:min(len(msg.Data()), maxDeadLetterBody)]`, `msg.Data()`,
		consumer, "TestConsumer_TruncatesAHugeDeadLetter",
	},
	{
		"a panic ends one message only",
		"internal/adapters/in/events/handle.go",
		`defer panics.Catch(&err)`, `_ = panics.Catch`,
		consumer, "TestConsumer_LogsWhatAPanicIsAbout",
	},
	{
		"a known message waits for the standby",
		"internal/adapters/out/postgres/inbox.go",
		`return false, s.t.writes().AwaitReplication(ctx)`, `return false, nil`,
		"./internal/test/e2e/failover", "TestRestock_AcknowledgesNoMessageThatAFailoverLoses",
	},
}
