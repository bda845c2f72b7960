/* One idempotency key: claim, wait, run, commit, replay, expiry and clean-up.
 *
 * ATTEMPTS requests carry one key. Each of them is an attempt of some client, on one of
 * two replicas. An attempt starts at any moment: before, during or after the others, and
 * also after its record has expired. It may end without an answer at every step; that is
 * a client that hangs up, a replica that dies, or a connection that breaks.
 *
 * One key is enough. What requests with other keys do to this one is to verify the server
 * for the memory of their replica: the process World does that, too.
 *
 * Without STANDBY, the standby is asynchronous, and a failover may lose commits. With it,
 * the standby is synchronous. A comment with an arrow names the code that a step is
 * modelled on; docs/model.md lists them. */

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

/* A response is the attempt that made it, and what it says. */
#define REFUSED       0
#define CREATED       1
#define CHANGED       2 /* the effect, after somebody has changed its row */
#define response(attempt, says) ((attempt) * 3 + (says))
#define accepted(r)   ((r) % 3 != REFUSED)

typedef Database {
    byte record = NONE; /* the stored response */
    byte life;          /* the life of the key in which it was stored */
    byte effects;       /* the rows of effects with the key */
    byte maker;         /* the attempt that made the first of them */
    bit changed         /* somebody has changed the row of the effect */
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
byte at[ATTEMPTS];     /* the replica of each attempt */
bool current[ATTEMPTS] /* its generation of the memory is still the current one */

/* What the clients know. */
byte answered = NONE; /* the response that they got in this life of the key */
bool acknowledged;    /* one of them was that of an effect */

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
    :: else /* nobody will need it */
    fi
}

/* All records of the replica are forgotten, and those of attempts that have begun. */
inline forget(r) { /* -> internal/adapters/out/postgres/recent.go: recentRecords.forget: r.generation++ */
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

inline memoryExpires() { /* -> internal/adapters/out/postgres/recent.go: newRecentRecords: return e.Value.remaining */
#ifdef MEMORY_NEVER_FORGOTTEN
    skip
#else
    replicas[0].remembered = NONE;
    replicas[1].remembered = NONE
#endif
}

inline verify(r, executed) { /* -> internal/adapters/out/postgres/recent.go: recentRecords.verify: if !server.Equal(r.server) { */
    if
    :: replicas[r].server != executed -> forget(r); replicas[r].server = executed
    :: else
    fi
}

/* A client gets an answer. Within one life of the key all answers are equal, and an effect
 * that is reported has been committed, once. What an asynchronous standby has lost since
 * then is lost. */
inline answer(response_, life_) {
    if
#ifndef STANDBY
    :: on != server
#endif
    :: life_ != life
    :: else ->
        assert(answered == NONE || answered == response_);
        answered = response_;
        if
        :: accepted(response_) -> assert(primary.effects == 1); acknowledged = true
        :: else
        fi
    fi
}

/* The writes of an attempt reach a database, all of them at once. */
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

memory: /* -> internal/adapters/out/postgres/keys.go: Keys.Execute: rec, replayed, generation := k.recent.get(c.ID) */
    atomic {
        if
        :: at[me] = 0
        :: started > 0 -> at[me] = 1 /* the replicas are alike, too */
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
        :: replicas[at[me]].remembered != NONE && replicas[at[me]].server == server -> /* -> internal/adapters/out/postgres/recent.go: recentRecords.get: if known && found.generation == r.generation && time.Since(r.seen) < trustFor { */
#endif
            answer(replicas[at[me]].remembered, life);
            goto end
        :: true /* not remembered, or not confirmed lately */
        fi
    }

lock: /* -> internal/adapters/out/postgres/queries/idempotency.sql: TryLockKey: SELECT pg_try_advisory_xact_lock(@id) AS locked */
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

find: /* -> internal/adapters/out/postgres/keys.go: tx.claimKey: findRecord(ctx, id, &stored)) */
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

check: /* -> internal/adapters/out/postgres/keys.go: Keys.executeAlone: k.recent.verify(locked.ServerStarted, started) */
    atomic {
        verify(at[me], on);
        if
        :: stored != NONE && storedIn == life -> /* -> internal/adapters/out/postgres/keys.go: Keys.executeAlone: if stored != nil && !stored.Expired { */
            result = stored;
            stored = 0;
            locked = false;
            goto replay
        :: !(stored != NONE && storedIn == life) && !locked -> /* -> internal/adapters/out/postgres/keys.go: Keys.executeAlone: if !locked.Locked { */
            stored = 0;
            storedIn = 0;
            goto wait
        :: else
        fi;
        stored = 0;
        locked = false
    }

command: /* -> internal/adapters/out/postgres/keys.go: Keys.executeAlone: rec, err = t.runCommand(ctx, a) */
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

commit: /* -> internal/adapters/out/postgres/commit.go: tx.sendCommit: batch.Queue("commit") */
    atomic {
        if
        :: on != server -> forget(at[me]); goto end /* unknown */
        :: true -> goto rollback
        :: on == server && !committing
        fi;
        if
        :: taken -> goto again /* only without a protection */ /* -> internal/adapters/out/postgres/errors.go: lostRace: case "40001" */
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
        :: true -> /* somebody cancels the wait for the standby */
            store(primary);
            holder = NONE;
            goto end /* -> internal/adapters/out/postgres/watch.go: replicated: return errNotReplicated */
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
        :: true -> forget(at[me]); goto end /* the answer is lost: unknown */ /* -> internal/adapters/out/postgres/commit.go: tx.sendWrites: return fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, safe(err)) */
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

remember: /* -> internal/adapters/out/postgres/keys.go: Keys.executeAlone: k.recent.put(rec, time.Until(replayedUntil), a.generation) */
    atomic {
        if
#ifdef MEMORY_NEVER_FORGOTTEN
        :: true ->
#else
        :: current[me] && storedIn == life -> /* -> internal/adapters/out/postgres/recent.go: recentRecords.put: if remaining > 0 { */
#endif
            replicas[at[me]].remembered = result
#ifndef MEMORY_NEVER_FORGOTTEN
        :: else
#endif
        fi;
        answer(result, storedIn);
        goto end
    }

replay: /* -> internal/adapters/out/postgres/keys.go: tx.endReplay: return t.writes().AwaitReplication(ctx) */
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

wait: /* -> internal/idempotency/guard.go: Guard.claimOrWait: if !sleep(ctx, min(poll/2+rand.N(poll), time.Until(deadline))) { */
    if
    :: goto memory
    :: goto end
    fi;

rollback: /* -> internal/adapters/out/postgres/tx.go: tx.rollback: _, _ = t.conn.Exec(ctx, "rollback") */
    atomic {
        if
        :: on == server && holder == me -> holder = NONE
        :: else
        fi
    }
end:
    atomic { /* forgets what does not matter any more */
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

/* What happens around the attempts, in any order. */
proctype World() {
end:
    do
    :: atomic { server <= FAILOVERS && !committing && !replicated -> replicate() }
    :: atomic { /* the primary is gone, and the standby takes over */
        server <= FAILOVERS -> server++;
#ifndef STANDBY
        if
        :: replicated
        :: else -> answered = NONE; acknowledged = false /* the loss that docs/running.md admits */
        fi;
#endif
        copy(primary, standby);
        copy(standby, nothing); /* there is no second failover */
        holder = NONE;
        committing = false
    }
    :: atomic { replicas[0].server != server -> verify(0, server) } /* requests with other keys */
    :: atomic { replicas[1].server != server -> verify(1, server) }
    :: atomic { /* the record expires, by the clock of the database */
        life <= EXPIRIES && !committing && live(primary) -> life++; answered = NONE; memoryExpires() /* -> internal/adapters/out/postgres/queries/idempotency.sql: FindRecord: r.expires_at <= clock_timestamp() AS expired */
    }
    :: atomic { /* clean-up */
        !committing && primary.record != NONE && primary.life != life -> /* -> internal/adapters/out/postgres/keys.go: Keys.DeleteExpired: DeleteExpiredRecords(ctx, int32(limit)) */
        primary.record = NONE;
        primary.life = 0
    }
    :: atomic { /* somebody changes the row of the effect */
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
