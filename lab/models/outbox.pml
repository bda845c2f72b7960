/* The outbox: relays publish events, a broker keeps them, a consumer processes them.
 *
 * Two events about one aggregate are written, each in its change's transaction. A lease
 * lets one of two relays publish at a time, but a stalled relay continues after its lease
 * has ended. A relay may die at every step. An event whose COMMIT's wait is cancelled is
 * visible before the standby has it. The standby is promoted once: the event is gone then,
 * and a retry of its command writes another. The broker drops duplicates for a while, and
 * delivers until it gets an acknowledgement. A comment with an arrow names the code that a
 * step models. */

#ifndef FAULTS
#define FAULTS 2 /* deaths, lost acknowledgements, repeated deliveries */
#endif

#ifndef FAILOVERS
#define FAILOVERS 1
#endif

#define EVENTS 2
#define NOBODY 255

byte written;             /* visible events */
byte replicated;          /* events on the standby */
byte failovers;
bool published[EVENTS];   /* they are marked in the outbox */
byte lease = NOBODY;
bool remembered[EVENTS];  /* the broker drops a duplicate */
bool sent[EVENTS];        /* the broker has had the event */
byte copies[EVENTS];      /* deliveries that the broker still owes */
bool inbox[EVENTS];       /* the consumer has recorded the event */
byte processed[EVENTS];
byte faults;

#define fault (faults < FAULTS) -> faults++

active [2] proctype Relay() {
    byte e, server;
    bool batch[EVENTS], acked[EVENTS];

end_lease: /* -> internal/outbox/relay.go: Relay.relayBatch: if held, err := r.lease(bounded); err != nil || !held { */
    atomic {
        lease == NOBODY || lease == _pid -> lease = _pid
    }

end_read: /* -> internal/outbox/relay.go: Relay.relayBatch: events, err := r.Store.Unpublished(bounded, batchSize) */
    atomic {
        (written > 0 && !published[0]) || (written > 1 && !published[1]) ->
        batch[0] = written > 0 && !published[0];
        batch[1] = written > 1 && !published[1];
        e = (batch[0] -> 0 : 1);
        server = failovers
    }

#ifndef PUBLISH_BEFORE_STANDBY
end_await: /* -> internal/adapters/out/postgres/relay/outbox.go: Outbox.Unpublished: return t.AwaitReplication(ctx, len(rows) > 0 && rows[0].Synchronous) */
    atomic {
        if
        :: server == failovers && (batch[1] -> replicated > 1 : replicated > 0)
        :: server != failovers -> goto stop /* the connection broke */
        fi
    }
#endif

#ifdef MARK_BEFORE_PUBLISH
    atomic { published[0] = published[0] || batch[0]; published[1] = published[1] || batch[1] }
#endif

publish: /* -> internal/adapters/out/nats/publisher.go: Publisher.publishRound: ack, sendErr := p.send(e) */
    atomic {
        if
        :: fault -> goto stop
        :: remembered[e]
        :: !remembered[e] ->
            assert(e == 0 || sent[0]); /* in order within an aggregate */
            sent[e] = true;
            remembered[e] = true;
            copies[e]++
        fi;
        if
        :: fault -> goto mark /* no acknowledgement: nothing that follows is sent */ /* -> internal/adapters/out/nats/publisher.go: Publisher.Publish: return acked, err */
        :: acked[e] = true
        fi;
        if
        :: e == 0 && batch[1] -> e = 1; goto publish
        :: else
        fi
    }

mark: /* -> internal/outbox/relay.go: Relay.relayBatch: return len(events), errors.Join(err, r.mark(ctx, acked)) */
    atomic {
        if
        :: fault -> goto stop
        :: true
        fi;
        published[0] = published[0] || acked[0];
        published[1] = published[1] || acked[1]
    }

stop: /* -> internal/outbox/relay.go: Relay.release: _ = r.Store.Release(ctx, r.holder) */
    atomic {
        if
        :: lease == _pid -> lease = NOBODY
        :: else
        fi;
        batch[0] = false;
        batch[1] = false;
        acked[0] = false;
        acked[1] = false;
        e = 0;
        server = 0;
        goto end_lease
    }
}

/* A consumer that follows the documents, as ours does. */
active proctype Consumer() {
    byte e;
    bool known;

end_receive: /* -> internal/adapters/in/events/handle.go: Consumer.process: err = c.cfg.Restock(ctx, cmd) */
    atomic {
        if
        :: copies[0] > 0 -> e = 0
        :: copies[1] > 0 -> e = 1
        fi;
        known = inbox[e]
    }

process: /* -> internal/adapters/out/postgres/inbox.go: inbox.Record: return s.tx.Writes().InsertMessage(ctx, dbsqlc.InsertMessageParams{ */
    atomic {
        if
        :: fault -> goto forget /* it dies */
#ifdef NO_INBOX
        :: true ->
#else
        :: known
        :: !known ->
#endif
            inbox[e] = true;
            processed[e]++;
            assert(processed[e] == 1)
        fi
    }

acknowledge: /* -> internal/adapters/in/events/handle.go: Consumer.finish: err = msg.Ack() */
    atomic {
        if
        :: fault
        :: copies[e]--
        fi
    }

forget:
    atomic {
        e = 0;
        known = false;
        goto end_receive
    }
}

/* The use cases, the clock and the broker. */
active proctype World() {
end:
    do
    :: atomic { written < EVENTS -> written++ } /* -> internal/adapters/out/postgres/outbox.go: outboxWriter.Add: return s.tx.write(addedEvent{ */
    :: atomic { replicated < written -> replicated++ }
    :: atomic {
        failovers < FAILOVERS -> failovers++;
        assert(replicated > 0 || !sent[0]); /* nothing is published that a failover takes back */
        assert(replicated > 1 || !sent[1]);
        written = replicated;
        lease = NOBODY;
        if
        :: published[0] -> published[0] = false /* the standby lacks the mark */
        :: true
        fi;
        if
        :: published[1] -> published[1] = false
        :: true
        fi
    }
    :: atomic { lease != NOBODY && fault -> lease = NOBODY } /* the lease ends while its holder stalls */
    :: atomic { remembered[0] -> remembered[0] = false }
    :: atomic { remembered[1] -> remembered[1] = false }
    od
}

/* In the end every event is processed, and nothing waits. */
#define finished (processed[0] == 1 && processed[1] == 1 && published[0] && published[1])

/* With weak fairness, Spin checks only executions that go on forever. This process checks
 * those that end. */
active proctype Quiescence() {
end:
    timeout -> assert(finished)
}

ltl publishes { <> [] finished }
