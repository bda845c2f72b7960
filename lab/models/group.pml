/* Shared transactions: lanes, groups, splits, marked rows, and members that run outside.
 *
 * Three commands sell units from one stock row. With two keys, the third command is a
 * duplicate of the first. Replica A has one lane: a command that finds it free runs
 * alone, others queue, and the next lane runs them as one group in one transaction.
 * Replica B has no lanes. Others hold the lane at first, and once the row and a key.
 *
 * A client retries its key at any replica until it has a response. It may give up unless
 * the outcome is unknown. Faults are deadlines, failed commands and transactions, and
 * COMMITs without an answer.
 *
 * This model has no primary key for records and no unique index beside the effect:
 * guard.pml has both. A comment with an arrow names the code that a step models. */

#ifndef KEYS
#define KEYS 2
#endif
#ifndef UNITS
#define UNITS 1
#endif
#ifndef FAULTS
#define FAULTS 1
#endif

#define COMMANDS 3
#define GROUPS   3 /* at once */
#define key(c) ((c) % KEYS)

/* Transactions are named by their command (0 to 2) or group (3 and up). */
#define NONE   255
#define OTHERS 254
#define QUEUED 253

/* A response is refused, or sold with the units left. The other outcomes follow. */
#define NOTHING     0
#define REFUSED     1
#define SOLD        2
#define IN_PROGRESS 10
#define FAILED      11 /* certainly without effect */
#define UNKNOWN     12
#define OUTSIDE     13
#define LANE        14 /* has the lane to itself */
#define CLAIMED     15 /* holds its key, and has no outcome yet */
#define sold(r)    ((r) >= SOLD && (r) < IN_PROGRESS)
#define decided(r) ((r) >= REFUSED && (r) < IN_PROGRESS)

/* The database. */
byte stock = UNITS, record[KEYS], effects[COMMANDS];
byte row = NONE, holder[KEYS] = NONE; /* the transactions that lock the stock and the keys */

/* Replica A, and both replicas' keys in flight. */
byte lane = OTHERS;
byte marks;                  /* of the row, by waiters */
byte seat[COMMANDS] = NONE;  /* the group that a command waits for */
byte outcome[COMMANDS];
bool ran[COMMANDS];          /* its writes may be committed */
bool hadKey[COMMANDS], rowHeld[COMMANDS], marked[COMMANDS];
bool busy[GROUPS], inFlight[2 * KEYS];

bool answered[KEYS], tookRow, tookKey;
byte faults;
hidden byte c, n;

#define fault (faults < FAULTS) -> faults++

/* Hands the lane to the queued commands, or frees it. */
inline pass() { /* -> internal/adapters/out/postgres/lanes/lanes.go: Lanes.pass: if group := l.queue.pop(MaxGroup); len(group) > 0 { */
    n = (seat[0] == QUEUED) + (seat[1] == QUEUED) + (seat[2] == QUEUED);
    lane = NONE;
    if
    :: n > 1 ->
        for (c : 0 .. GROUPS - 1) {
            lane = (busy[c] -> lane : COMMANDS + c)
        }
        assert(lane != NONE); /* GROUPS are enough */
        busy[lane - COMMANDS] = true
    :: else
    fi;
    for (c : 0 .. COMMANDS - 1) {
        if
        :: seat[c] == QUEUED && n > 1 -> seat[c] = lane
        :: seat[c] == QUEUED && n == 1 -> seat[c] = NONE; outcome[c] = LANE; lane = c /* -> internal/adapters/out/postgres/group/group.go: Executor.lead: if !members[0].resolve(outcome{leave: leave}) { */
        :: else
        fi
    }
}

inline leave() { /* -> internal/adapters/out/postgres/lanes/lanes.go: lane.leave: l.once.Do(func() { */
    if
    :: lane == me -> pass()
    :: else /* its timer was first */
    fi
}

/* Makes a member's outcome final, unless its request is gone. */
inline resolve(m, f) { /* -> internal/adapters/out/postgres/group/member.go: member.resolve: if m.resolved { */
    outcome[m] = (seat[m] == me -> f : outcome[m]);
    seat[m] = (seat[m] == me -> NONE : seat[m])
}

/* Settles all members with their pending outcomes, except those with a response. */
inline resolveAll(response) {
    for (c : 0 .. COMMANDS - 1) {
        if
        :: decided(pending[c]) -> resolve(c, response)
        :: else -> resolve(c, pending[c])
        fi
    }
}

inline resolveOutside() { /* -> internal/adapters/out/postgres/group/share.go: Executor.resolveOutside: k.held.Add(f.marked) */
    marked[first] = marked[first] || (timedOut && seat[first] == me);
    marks = marks + (timedOut && seat[first] == me);
    resolve(first, OUTSIDE)
}

/* A response and its effect become visible. */
inline store(m, response) {
    assert(record[key(m)] == NOTHING); /* nothing runs for a key that has a response */
    record[key(m)] = response;
    effects[key(m)] = effects[key(m)] + sold(response);
    stock = (changed -> left : stock)
}

inline storeAll() {
    for (c : 0 .. COMMANDS - 1) {
        if
        :: decided(pending[c]) -> store(c, pending[c])
        :: else
        fi
    }
}

/* A transaction ends: it unlocks everything, and every sold unit is an effect. */
inline unlock() {
    assert(stock + effects[0] + effects[1] + effects[2] == UNITS);
    row = (row == me -> NONE : row);
    for (n : 0 .. KEYS - 1) {
        holder[n] = (holder[n] == me -> NONE : holder[n])
    }
}

#ifdef NO_ROW_LOCK
#define rowFree true
#define lock    row
#else
#define rowFree (row == NONE)
#define lock    me
#endif

inline read() {
    row = lock;
    left = stock;
    before = stock
}

#ifdef NO_VERSION_CHECK
#define stale false
#else
#define stale (changed && before != stock) /* -> internal/adapters/out/postgres/queries/product.sql: UpdateStockOfMany: CASE WHEN p.version = w.read_version AND p.reserved = w.read_reserved THEN w.version ELSE 0 END */
#endif

/* A command sells a unit, or is refused: for lack of stock, or after its change. */
inline decide(response) {
    if
    :: left > 0 -> left--; changed = true; response = SOLD + left
    :: response = REFUSED /* -> internal/adapters/out/postgres/group/member.go: member.finish: if err == nil && !result.Refused { */
#ifdef REFUSED_KEEPS_CHANGES
    :: left > 0 -> left--; changed = true; response = REFUSED
#endif
    :: fault -> response = FAILED
    fi
}

#define has(d) (pending[0] == d || pending[1] == d || pending[2] == d)
#define stores (decided(pending[0]) || decided(pending[1]) || decided(pending[2]))

#ifdef HELD_KEY_RUNS
#define held(k) false
#else
#define held(k) (holder[k] != NONE)
#endif

proctype Group(byte me) {
    byte pending[COMMANDS]; /* NOTHING for the others, and for those already answered */
    byte first, left, before;
    bool changed, timedOut;

end_idle:
    atomic {
        busy[me - COMMANDS];
share: /* -> internal/adapters/out/postgres/group/share.go: Executor.runTogether: members = slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return !m.waiting() }) */
        n = (seat[0] == me) + (seat[1] == me) + (seat[2] == me);
        first = (seat[0] == me -> 0 : (seat[1] == me -> 1 : 2));
        for (c : 0 .. COMMANDS - 1) {
            pending[c] = (seat[c] == me -> CLAIMED : NOTHING);
            ran[c] = ran[c] && seat[c] != me /* -> internal/adapters/out/postgres/group/member.go: member.begin: m.ran = false */
        }
        if
        :: n == 0 -> goto done
        :: n == 1 -> resolveOutside(); goto done
        :: n > 1
        fi
    }

claim: /* -> internal/adapters/out/postgres/group/group.go: Executor.claim: claims, err := records.Take(g.ctx, g.tx, idsOf(g.members)) */
    atomic {
        for (c : 0 .. COMMANDS - 1) {
            if
            :: pending[c] == CLAIMED && record[key(c)] != NOTHING -> /* -> internal/adapters/out/postgres/group/group.go: Executor.applyClaim: case c.Stored != nil && !c.Expired: */
                resolve(c, record[key(c)]);
                pending[c] = NOTHING
            :: pending[c] == CLAIMED && record[key(c)] == NOTHING && held(key(c)) ->
                if
                :: seat[c] == me && hadKey[c] -> pending[c] = OUTSIDE /* -> internal/adapters/out/postgres/group/group.go: Executor.applyClaim: case !c.Locked && m.hadKey && g.shared(): // a duplicate tries it now */
                :: else -> resolve(c, IN_PROGRESS); pending[c] = NOTHING /* -> internal/adapters/out/postgres/group/group.go: Executor.applyClaim: m.pending = outcome{err: guard.ErrInProgress, done: true} */
                fi
            :: pending[c] == CLAIMED && record[key(c)] == NOTHING && !held(key(c)) -> /* -> internal/adapters/out/postgres/group/group.go: Executor.applyClaim: m.hadKey, m.replaces = true, c.Stored != nil */
                holder[key(c)] = me;
                hadKey[c] = hadKey[c] || seat[c] == me;
                if
                :: seat[c] != me -> pending[c] = FAILED /* -> internal/adapters/out/postgres/group/member.go: member.try: if m.resolved && g.shared() { */
                :: seat[c] == me && marks > 0 -> pending[c] = OUTSIDE; rowHeld[c] = true /* -> internal/adapters/out/postgres/group/group.go: Executor.load: m.rowHeld = k.held.Any(m.announced()) */
                :: seat[c] == me && marks == 0 /* it announces the row */
#ifdef NOT_JOINED_WRITES
                :: seat[c] == me && stock > 0 -> left = stock - 1; changed = true; before = stock; pending[c] = SOLD + left
#else
                :: seat[c] == me && marks == 0 -> pending[c] = OUTSIDE /* it does not */ /* -> internal/adapters/out/postgres/group/member.go: member.finish: if g.shared() && errors.Is(err, ErrNotJoined) { */
#endif
                fi
            :: pending[c] == NOTHING
            fi
        };
        if
        :: has(CLAIMED) || stores
        :: else -> goto unwritten
        fi
    }

load: /* -> internal/adapters/out/postgres/group/group.go: Executor.load: return g.batch.Load(g.ctx, sessionsOf(g.claimed())) */
    atomic {
        if
        :: !has(CLAIMED) /* only without a protection */
        :: has(CLAIMED) && rowFree ->
            read();
            timedOut = false;
            for (c : 0 .. COMMANDS - 1) {
                if
                :: pending[c] == CLAIMED && seat[c] != me -> pending[c] = FAILED
                :: pending[c] == CLAIMED && seat[c] == me -> ran[c] = true; decide(pending[c]) /* -> internal/adapters/out/postgres/group/member.go: member.try: m.ran = !announce */
                :: pending[c] != CLAIMED
                fi
            }
        :: has(CLAIMED) && row != NONE -> timedOut = true; goto split /* -> internal/adapters/out/postgres/pgtx/tx.go: DB.Run: return fmt.Errorf("%w: %w", ErrRowHeld, err) */
        :: fault -> pending[0] = FAILED; pending[1] = FAILED; pending[2] = FAILED /* -> internal/adapters/out/postgres/group/share.go: Executor.runTogether: case !separable(err): */
        fi;
        if
        :: stores
        :: !stores -> goto unwritten /* -> internal/adapters/out/postgres/group/group.go: group.endUnwritten: return errNothingStored */
        fi;
#ifdef TOLD_BEFORE_COMMIT
        resolveAll(pending[c])
#endif
    }

commit: /* -> internal/adapters/out/postgres/pgtx/commit.go: Tx.commit: go func() { answer <- t.sendWrites(context.WithoutCancel(ctx), conn) }() */
    atomic {
        if
        :: stale -> goto split /* only without a protection */
        :: fault -> goto split /* the server rolls back */ /* -> internal/adapters/out/postgres/pgtx/commit.go: Tx.sendWrites: if rolledBackByServer(err) { */
        :: !stale ->
            storeAll();
unwritten:
            unlock();
            resolveAll(pending[c]); /* -> internal/adapters/out/postgres/group/share.go: Executor.runTogether: k.resolve(g) */
            goto done
#ifdef UNKNOWN_RUNS_AGAIN
        :: !stale && fault -> storeAll(); goto split
#else
        :: !stale && fault -> resolveAll(UNKNOWN) /* -> internal/adapters/out/postgres/group/group.go: group.resolveUnknown: if m.pending.outside || m.pending.err != nil { */
#endif
        fi
    }
    atomic { /* the server decides later */ /* -> internal/adapters/out/postgres/pgtx/commit.go: Tx.giveUp: go t.awaitAnswer(answer, t.place.Keep()) */
        if
        :: !stale -> storeAll()
        :: true
        fi;
        unlock();
done:
        leave();
        busy[me - COMMANDS] = false;
        pending[0] = 0; pending[1] = 0; pending[2] = 0;
        first = 0; left = 0; before = 0; changed = false; timedOut = false;
        goto end_idle
    }

split: /* -> internal/adapters/out/postgres/group/share.go: Executor.runTogether: k.runTogether(ctx, first, err) */
    atomic {
        unlock();
        changed = false;
        resolveOutside();
#ifdef SECOND_HALF_LOST
        goto done
#else
        goto share /* -> internal/adapters/out/postgres/group/share.go: Executor.runTogether: k.runTogether(ctx, second, err) */
#endif
    }
}

#ifdef UNKNOWN_RUNS_AGAIN
#define found (record[key(me)] != NOTHING && !hadKey[me])
#else
#define found (record[key(me)] != NOTHING)
#endif

proctype Command(byte me) {
    byte at, result, left, before;
    bool changed, unsure, patient; /* patient waits for the row without a timeout */

arrive:
    atomic {
        if
        :: !inFlight[key(me)] -> at = 0 /* -> internal/adapters/out/postgres/group/executor.go: Executor.Execute: if !k.inFlight.Enter(c.ID) { */
        :: !inFlight[KEYS + key(me)] -> at = 1
        :: !unsure -> goto end /* the client gives up */
        fi;
        inFlight[at * KEYS + key(me)] = true;
        if
        :: at == 0 && lane == NONE -> lane = me; goto claim /* -> internal/adapters/out/postgres/lanes/lanes.go: Lanes.Enter: return l.take(1).leave, true */
        :: at == 0 && lane != NONE -> seat[me] = QUEUED /* -> internal/adapters/out/postgres/lanes/lanes.go: Lanes.Enter: l.queue.push(principal, command) */
        :: at == 1 -> goto claim /* -> internal/adapters/out/postgres/group/executor.go: Executor.Execute: if k.lanes == nil || k.ungroupable.Has(c.Operation) { */
        fi
    }

wait: /* -> internal/adapters/out/postgres/group/member.go: member.wait: case <-m.answered: */
    atomic {
        if
        :: outcome[me] == LANE -> outcome[me] = NOTHING
        :: outcome[me] == OUTSIDE -> outcome[me] = NOTHING; patient = rowHeld[me] /* -> internal/adapters/out/postgres/group/executor.go: Executor.transactOutside: place, err := k.db.Places.Outside(soon, m.claim.Scope, m.rowHeld) */
        :: outcome[me] != NOTHING && outcome[me] < OUTSIDE -> result = outcome[me]; outcome[me] = NOTHING; goto finish
        :: seat[me] != NONE && fault -> /* its deadline */ /* -> internal/adapters/out/postgres/group/member.go: member.abandon: m.resolved = true */
            seat[me] = NONE;
#ifdef GONE_IS_FAILED
            result = FAILED;
#else
            result = (ran[me] -> UNKNOWN : FAILED); /* -> internal/adapters/out/postgres/group/member.go: member.abandon: if m.ran { */
#endif
            goto finish
        fi
    }

claim: /* after a rollback it waits for its key */ /* -> internal/adapters/out/postgres/group/group.go: Executor.transact: if err := records.Await(ctx, t, m.claim.ID); err != nil { */
    atomic {
        if
        :: found -> result = record[key(me)]; goto finish
        :: !found && holder[key(me)] != NONE -> result = IN_PROGRESS; goto finish /* -> internal/adapters/out/postgres/group/group.go: Executor.claim: return guard.ErrInProgress */
        :: !found && holder[key(me)] == NONE -> holder[key(me)] = me; hadKey[me] = true
        fi
    }

load: /* -> internal/adapters/out/postgres/session.go: ask: if err := s.batch.load(ctx, l); err != nil { */
    atomic {
        if
        :: rowFree -> read(); decide(result)
        :: row != NONE && !patient -> /* -> internal/adapters/out/postgres/group/executor.go: Executor.runOutside: if errors.Is(err, pgtx.ErrRowHeld) { */
            unlock();
            patient = true;
            if
            :: lane == me -> pass(); marks++; marked[me] = true /* -> internal/adapters/out/postgres/group/executor.go: Executor.runInLane: m.rowHeld, m.outcome = true, outcome{outside: true} */
            :: else
            fi;
            goto claim
        :: fault -> result = FAILED
        fi
    }

commit: /* -> internal/adapters/out/postgres/group/group.go: Executor.transact: m.outcome = m.pending */
    atomic {
        if
        :: stale -> result = FAILED /* only without a protection */
        :: result == FAILED
        :: decided(result) && !stale -> store(me, result)
        :: decided(result) && !stale && fault -> store(me, result); result = UNKNOWN
        :: decided(result) && fault -> result = UNKNOWN /* it was not committed */
        fi;
        unlock();
finish:
        leave();
#ifndef MARK_NEVER_REMOVED
        marks = marks - marked[me]; /* -> internal/adapters/out/postgres/group/executor.go: Executor.runInLane: defer k.held.Remove(m.outcome.marked) */
#endif
        inFlight[at * KEYS + key(me)] = false; /* -> internal/adapters/out/postgres/group/executor.go: Executor.Execute: defer k.inFlight.Leave(c.ID) */
        ran[me] = false; hadKey[me] = false; rowHeld[me] = false; marked[me] = false;
        at = 0; left = 0; before = 0; changed = false; patient = false;
        unsure = unsure || result == UNKNOWN;
        if
        :: decided(result) -> /* the client is told a committed response and effect */
            assert(record[key(me)] == result && effects[key(me)] == sold(result));
            answered[key(me)] = true
        :: else -> result = 0; goto arrive
        fi
    }
end:
    result = 0; unsure = false
}

/* The lane's timer, and others that lock the row and a key. */
proctype World() {
end:
    do
    :: atomic { lane != NONE -> pass() } /* -> internal/adapters/out/postgres/lanes/lanes.go: Lanes.take: taken.timer = time.AfterFunc(keepLane, taken.leave) */
    :: atomic { !tookRow && row == NONE -> tookRow = true; row = OTHERS }
    :: atomic { row == OTHERS -> row = NONE }
    :: atomic { !tookKey && holder[KEYS - 2] == NONE -> tookKey = true; holder[KEYS - 2] = OTHERS }
    :: atomic { holder[KEYS - 2] == OTHERS -> holder[KEYS - 2] = NONE }
    od
}

init {
    atomic {
        run World();
        for (c : 0 .. GROUPS - 1) {
            run Group(COMMANDS + c)
        }
        for (c : 0 .. COMMANDS - 1) {
            run Command(c)
        }
    }
    atomic {
        _nr_pr == 2 + GROUPS && !busy[0] && !busy[1] && !busy[2];
        assert(lane == NONE || lane == OTHERS);
        assert(row == NONE || row == OTHERS);
        assert(marks == 0);
        for (n : 0 .. KEYS - 1) {
            assert(holder[n] == NONE || holder[n] == OTHERS);
            assert(!inFlight[n] && !inFlight[KEYS + n]);
            assert(effects[n] == sold(record[n]));
            assert(effects[n] == 0 || answered[n]) /* no effect without an answer */
        }
    }
}
