/* One idempotency key: claim, wait, run, commit, replay, expiry and clean-up.
 *
 * ATTEMPTS requests carry one key. Each is some client's attempt, on one of two
 * replicas. An attempt starts at any moment: before, during or after the others, and
 * even after its record has expired. It may end without an answer at every step; that is
 * a client that hangs up, a replica that dies, or a connection that breaks.
 *
 * One key is enough. Requests with other keys only verify the server for their replica's
 * memory: the process World also does that.
 *
 * Without STANDBY, the standby is asynchronous, and a failover may lose commits. With it,
 * the standby is synchronous. A comment with an arrow names the code that a step
 * models. */

#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif

#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif

#define NONE 255

/* A response is its attempt, and its content. */
#define REFUSED       0
#define CREATED       1
#define CHANGED       2 /* the effect, after a change to its row */
#define response(attempt, says) ((attempt) * 3 + (says))
#define accepted(r)   ((r) % 3 != REFUSED)

typedef Database {
    byte record = NONE; /* the stored response */
    byte life;          /* the key's life in which it was stored */
    byte effects;       /* effect rows with the key */
    byte maker;         /* the attempt that made the first one */
    bit changed         /* the effect row was changed */
}

typedef Replica {
    byte server = 1;       /* the server that the memory belongs to */
    byte remembered = NONE /* the response in the memory */
}

Database primary, standby, nothing;
Replica replicas[2];
byte server = 1;       /* a failover starts another one */
byte life = 1;         /* it ends when the record expires */
byte holder = NONE;    /* the attempt that holds the advisory lock */
bool committing;       /* a COMMIT waits for the standby */
byte started;          /* how many attempts have begun */
byte at[ATTEMPTS];     /* each attempt's replica */
bool current[ATTEMPTS] /* its memory generation is still current */

/* The clients' knowledge. */
byte answered = NONE; /* the response that they got in this key life */
bool acknowledged;    /* one response reported an effect */

hidden byte i;

#define live(db) (db.record != NONE && db.life == life)
#define replicated (primary.record == standby.record && primary.life == standby.life && \
    primary.effects == standby.effects && primary.maker == standby.maker && primary.changed == standby.changed)

inline copy(to, from) {
    to.record = from.record;
    to.life = from.life;
    to.effects = from.effects;
    to.maker = from.maker;
    to.changed = from.changed
}

inline replicate() {
    if
    :: server <= FAILOVERS -> copy(standby, primary)
    :: else /* not needed any more */
    fi
}

/* Forgets all the replica's records, and those from attempts that have begun. */
inline forget(r) { /* -> internal/adapters/out/postgres/records/recent.go: Recent.Forget: r.generation++ */
#ifndef MEMORY_NEVER_FORGOTTEN
    replicas[r].remembered = NONE;
    for (i : 0 .. ATTEMPTS - 1) {
        if
        :: at[i] == r -> current[i] = false
        :: else
        fi
    }
    i = 0
#else
    skip
#endif
}

inline memoryExpires() { /* -> internal/adapters/out/postgres/records/recent.go: NewRecent: return e.Value.remaining */
#ifdef MEMORY_NEVER_FORGOTTEN
    skip
#else
    replicas[0].remembered = NONE;
    replicas[1].remembered = NONE
#endif
}

inline verify(r, executed) { /* -> internal/adapters/out/postgres/records/recent.go: Recent.Verify: if !server.Equal(r.server) { */
    if
    :: replicas[r].server != executed -> forget(r); replicas[r].server = executed
    :: else
    fi
}

/* A client gets an answer. Within one key life all answers are equal, and a reported
 * effect has been committed, once. An asynchronous standby may have lost it since
 * then. */
inline answer(response_) {
    assert(answered == NONE || answered == response_);
    answered = response_;
    if
    :: accepted(response_) -> assert(primary.effects == 1); acknowledged = true
    :: else
    fi
}

/* An attempt's writes reach a database, all at once. */
inline store(db) {
    if
    :: creates -> db.effects++; db.maker = me; db.changed = 0
    :: else
    fi;
#ifndef RESPONSE_AFTER_COMMIT
    db.record = result;
    db.life = life
#endif
}

#ifdef NO_PRIMARY_KEY
#define taken false
#else
#define taken live(primary)
#endif

proctype Attempt(byte me) {
    byte on, stored, result, storedIn;
    bool locked, creates;

    started >= me; /* they are all alike, so they may begin in their order */

memory: /* -> internal/adapters/out/postgres/group/executor.go: Executor.Execute: rec, replayed, generation := k.recent.Get(c.ID) */
    atomic {
        if
        :: at[me] = 0
        :: started > 0 -> at[me] = 1 /* the replicas are also alike */
        fi;
        if
        :: started == me -> started++
        :: else
        fi;
        current[me] = true;
        on = server;
        if
#ifdef MEMORY_NEVER_FORGOTTEN
        :: replicas[at[me]].remembered != NONE ->
#else
        :: replicas[at[me]].remembered != NONE && replicas[at[me]].server == server -> /* -> internal/adapters/out/postgres/records/recent.go: Recent.Get: if known && found.generation == r.generation && time.Since(r.seen) < trustFor { */
#endif
            answer(replicas[at[me]].remembered);
            goto end
        :: true /* not remembered, or not confirmed lately */
        fi
    }

lock: /* -> internal/adapters/out/postgres/queries/idempotency.sql: ClaimKeys: SELECT pg_try_advisory_xact_lock(w.id) AS locked */
    atomic {
        on = server;
#ifdef LOOKUP_BEFORE_LOCK
        stored = primary.record;
        storedIn = primary.life
    }
    atomic {
        if
        :: on != server -> forget(at[me]); goto end
        :: else
        fi;
#endif
        locked = (holder == NONE);
        if
        :: locked -> holder = me
        :: else
        fi
    }

find: /* -> internal/adapters/out/postgres/records/records.go: Take: t.Load(ctx, claim, find(ids, &stored)) */
    atomic {
        if
        :: on != server -> forget(at[me]); goto end
        :: true -> goto rollback /* the replica dies */
        :: on == server
        fi;
#ifndef LOOKUP_BEFORE_LOCK
        stored = primary.record;
        storedIn = primary.life
#endif
    }

check: /* -> internal/adapters/out/postgres/group/group.go: Executor.claim: k.recent.Verify(g.tx.Server, g.sent) */
    atomic {
        verify(at[me], on);
        if
        :: stored != NONE && storedIn == life -> /* -> internal/adapters/out/postgres/group/group.go: Executor.applyClaim: case c.Stored != nil && !c.Expired: */
            result = stored;
            stored = 0;
            locked = false;
            goto replay
        :: !(stored != NONE && storedIn == life) && !locked -> /* -> internal/adapters/out/postgres/group/group.go: Executor.applyClaim: case !c.Locked: */
            stored = 0;
            storedIn = 0;
            goto wait
        :: else
        fi;
        stored = 0;
        locked = false
    }

command: /* -> internal/adapters/out/postgres/group/group.go: Executor.run: result, err := m.try(g, false) */
    atomic {
        if
        :: on != server -> forget(at[me]); goto end
        :: true -> goto rollback /* the replica dies, or the command fails */
        :: on == server
        fi;
        assert(!live(primary)); /* nothing runs for a request that has a response */
        if
#ifndef NO_UNIQUE_INDEX
        :: primary.effects > 0 -> /* -> internal/core/payment/confirm_payment.go: Service.ConfirmPayment: if p = op.paymentBy(by); p != nil { */
            creates = false;
            result = response(primary.maker, CREATED + primary.changed)
        :: primary.effects == 0 ->
#else
        :: true ->
#endif
            if
            :: creates = true; result = response(me, CREATED)
            :: creates = false; result = response(me, REFUSED)
            fi
        fi
    }

commit: /* -> internal/adapters/out/postgres/pgtx/commit.go: Tx.sendCommit: batch.Queue("commit") */
    atomic {
        if
        :: on != server -> forget(at[me]); goto end /* unknown */
        :: true -> goto rollback
        :: on == server && !committing
        fi;
        if
        :: taken -> goto again /* only without a protection */ /* -> internal/adapters/out/postgres/pgtx/errors.go: lostRace: case "40001" */
        :: else
        fi;
#ifndef NO_UNIQUE_INDEX
        if
        :: creates && primary.effects > 0 -> goto again /* only without a protection */
        :: else
        fi;
#endif
#ifdef STANDBY
        if
        :: true -> /* the wait for the standby is cancelled */
            store(primary);
            holder = NONE;
            goto end /* -> internal/adapters/out/postgres/pgtx/watch.go: replicated: return errNotReplicated */
        :: true ->
            replicate();
            if
            :: server <= FAILOVERS -> store(standby)
            :: else
            fi;
            committing = true
        fi
    }
    atomic {
        if
        :: on != server -> forget(at[me]); goto end /* unknown */
        :: on == server
        fi;
        committing = false;
#endif
        store(primary);
        storedIn = life;
        holder = NONE;
        if
        :: true -> forget(at[me]); goto end /* the answer is lost: unknown */ /* -> internal/adapters/out/postgres/pgtx/commit.go: Tx.sendWrites: return fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, safe(err)) */
        :: true
        fi
    }

#ifdef RESPONSE_AFTER_COMMIT
    atomic {
        if
        :: on == server && !live(primary) -> primary.record = result; primary.life = life
        :: else
        fi
    }
#endif

remember: /* -> internal/adapters/out/postgres/group/group.go: Executor.remember: k.recent.Put(rec, time.Until(sent.Add(rec.ReplayedUntil.Sub(now))), generation) */
    atomic {
        if
#ifdef MEMORY_NEVER_FORGOTTEN
        :: true ->
#else
        :: current[me] && storedIn == life -> /* -> internal/adapters/out/postgres/records/recent.go: Recent.Put: if remaining > 0 { */
#endif
            replicas[at[me]].remembered = result
#ifndef MEMORY_NEVER_FORGOTTEN
        :: else
#endif
        fi;
        if
#ifndef STANDBY
        :: on != server
#endif
        :: storedIn != life
        :: else -> answer(result)
        fi;
        goto end
    }

replay: /* -> internal/adapters/out/postgres/group/group.go: group.endUnwritten: return g.tx.AwaitReplication(g.ctx, g.synchronous) */
    atomic {
        if
        :: on != server -> forget(at[me]); goto end
        :: true -> goto rollback
#if defined(STANDBY) && !defined(REPLAY_BEFORE_STANDBY)
        :: on == server && !committing -> replicate()
#else
        :: on == server
#endif
        fi;
        if
        :: holder == me -> holder = NONE
        :: else
        fi;
        goto remember
    }

again:
    atomic {
        if
        :: on == server && holder == me -> holder = NONE /* only without a protection */
        :: else
        fi;
        goto memory /* only without a protection */
    }

wait: /* -> kit/guard/guard.go: Guard.Do: if !sleep(ctx, min(poll/2+rand.N(poll), g.Wait-time.Since(arrived))) { */
    if
    :: goto memory
    :: goto end
    fi;

rollback: /* -> internal/adapters/out/postgres/pgtx/tx.go: Tx.rollback: _, _ = t.conn.Exec(ctx, "rollback") */
    atomic {
        if
        :: on == server && holder == me -> holder = NONE
        :: else
        fi
    }
end:
    atomic { /* forgets irrelevant state */
        at[me] = 0;
        current[me] = false;
        on = 0;
        result = 0;
        storedIn = 0;
        stored = 0;
        locked = false;
        creates = false
    }
}

/* Events around the attempts, in any order. */
proctype World() {
end:
    do
    :: atomic { server <= FAILOVERS && !committing && !replicated -> replicate() }
    :: atomic { /* the primary is gone, and the standby takes over */
        server <= FAILOVERS -> server++;
#ifndef STANDBY
        if
        :: replicated
        :: else -> answered = NONE; acknowledged = false /* the loss that docs/operate.md admits */
        fi;
#endif
        copy(primary, standby);
        copy(standby, nothing); /* there is no second failover */
        holder = NONE;
        committing = false
    }
    :: atomic { replicas[0].server != server -> verify(0, server) } /* requests with other keys */
    :: atomic { replicas[1].server != server -> verify(1, server) }
    :: atomic { /* the record expires by the database clock */
        life <= EXPIRIES && !committing && live(primary) -> life++; answered = NONE; memoryExpires() /* -> internal/adapters/out/postgres/queries/idempotency.sql: FindRecords: r.expires_at <= clock_timestamp() AS expired */
    }
    :: atomic { /* clean-up */
        !committing && primary.record != NONE && primary.life != life -> /* -> internal/adapters/out/postgres/group/executor.go: Executor.DeleteExpired: (*dbsqlc.Queries).DeleteExpiredRecords, int32(limit) */
        primary.record = NONE;
        primary.life = 0
    }
    :: atomic { /* the effect row changes */
        !committing && primary.effects > 0 && !primary.changed -> primary.changed = 1
    }
    od
}

init {
    atomic {
        run World();
        for (i : 0 .. ATTEMPTS - 1) {
            run Attempt(i)
        }
        i = 0
    }
    _nr_pr == 2;
    assert(primary.effects <= 1);
    assert(!acknowledged || primary.effects == 1);
    assert(holder == NONE) /* no key stays in progress */
}
