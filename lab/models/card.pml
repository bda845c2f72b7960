/* One card payment: intent, job, provider, answer, webhook and late capture.
 *
 * The payment is committed as processing, with a job. Two workers run jobs at least once:
 * a worker may die at every step, and another one may get its job while it still runs.
 * The provider charges once per key while it remembers the key, for a day; its search
 * finds a charge after a while. Requests and answers get lost or late. Webhooks come
 * before, after and instead of answers, twice, and with other amounts.
 *
 * A late capture's refund is settled by the same steps, with other names. So only its
 * intent is modelled. A comment with an arrow names the code that a step models. */

#ifndef FAULTS
#define FAULTS 1 /* deaths, lost and late messages, lost jobs, repeated events */
#endif

/* Payment status, and charge status at the provider. */
#define NONE       0
#define PROCESSING 1
#define SUCCEEDED  2
#define FAILED     3

/* Job states. */
#define GONE      0
#define AVAILABLE 1
#define RUNNING   2

/* Provider events. */
#define PAID      0
#define CANCELLED 1
#define STRAY     2 /* names our payment, with another amount */
#define EVENTS    3

/* Our database. */
byte status;
bool asked;
byte entries;  /* ledger entries for this payment */
byte refunds;  /* for the late capture */
byte job;
byte attempt;  /* the job's counter, up to 2 */
bool inbox[EVENTS]; /* processed events */
bool locked;   /* the order row */

/* The provider. */
byte charge;     /* charge status */
byte moved;      /* how often the money has moved */
bool known;      /* it remembers the key */
byte first;      /* the answer repeated for the key, NONE is an error */
bool searchable; /* its search finds the charge */
bool late;       /* a request is still on its way */
bool due[EVENTS]; /* it delivers the event until it is acknowledged */

bool calling[2]; /* the worker may still send a request */
byte faults;

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef RECEIVERS
#define RECEIVERS 1
#endif

#define fault (faults < FAULTS) -> faults++

inline insertJob() { /* -> internal/adapters/out/postgres/reconcile/restore.go: InsertJobs: DO NOTHING */
    if
    :: job == GONE -> job = AVAILABLE; attempt = 0
    :: else
    fi
}

inline capture() {
    charge = SUCCEEDED;
    moved++;
    assert(moved == 1); /* the provider charges once */
    due[PAID] = true
}

/* The provider receives a request. */
inline request() { /* -> internal/adapters/out/stripe/charge.go: intentParams: params.SetIdempotencyKey(c.Payment) */
    if
#ifndef NO_PROVIDER_KEY
    :: known
#endif
    :: else ->
        known = true;
        if
        :: capture()
        :: charge = FAILED
        :: charge = PROCESSING
        :: fault /* 500, before it does anything */
        fi;
        if
        :: first = charge
        :: fault -> first = NONE /* 500, whatever it did */
        fi
    fi
}

/* Applies a result to the status that the transaction has read. */
inline settle(outcome) {
    if
    :: read == PROCESSING && outcome == SUCCEEDED -> /* -> internal/core/payment/apply_charge.go: Tx.applyCharge: return nil, tx.capture(ctx, op, p) */
        status = SUCCEEDED;
        entries++
    :: read == PROCESSING && outcome == FAILED -> /* -> internal/core/payment/apply_charge.go: Tx.applyCharge: return nil, tx.fail(ctx, op, p) */
        status = FAILED
    :: read == FAILED && outcome == SUCCEEDED && refunds == 0 -> /* -> internal/core/payment/return_late_capture.go: Tx.returnLateCapture: if len(p.Refunds) > 0 { */
        entries++;
        refunds++
    :: else
    fi;
    assert(entries <= moved) /* the ledger records only what the provider moved */
}

inline lockOrder() { /* -> internal/adapters/out/postgres/order_payments.go: orderPaymentsStore.Lock: ask(ctx, s.tx, orderLoad{orderID, g}, s.tx.batch.orderPayments) */
#ifndef NO_ROW_LOCK
    !locked -> locked = true;
#endif
    read = status
}

inline unlockOrder() {
    locked = false;
    read = 0
}

active [WORKERS] proctype Worker() {
    byte result, read;
    bool before;

end_fetch: /* -> internal/adapters/in/jobs/settle.go: settleWorker.Work: return w.settle(ctx, job.Args.id()) */
    atomic {
        job == AVAILABLE -> job = RUNNING;
        attempt = (attempt < 2 -> attempt + 1 : 2)
    }

ask: /* -> internal/core/payment/settle_payment.go: Service.askForPayment: before = asked(p.Card.AskedAt, p.CreatedAt, tx.Now) */
    atomic {
        if
        :: fault -> goto forget
        :: status != PROCESSING -> goto complete
        :: status == PROCESSING && !locked
        fi;
#ifdef AGAIN_FROM_ATTEMPT
        before = attempt > 1;
#else
        before = asked;
#endif
        asked = true; /* -> internal/core/payment/settle_payment.go: Service.askForPayment: p.Card.AskedAt = tx.Now */
        calling[_pid] = true
    }

search: /* -> internal/adapters/out/stripe/charge.go: Gateway.Charge: intent, err := g.findIntent(ctx, c) */
    atomic {
        if
        :: fault -> goto forget
        :: before && searchable -> result = charge; goto answered
        :: !(before && searchable)
        fi
    }

create: /* -> internal/adapters/out/stripe/charge.go: Gateway.createIntent: return g.client.V1PaymentIntents.Create(ctx, params) */
    atomic {
        if
        :: fault -> goto forget
        :: fault -> request(); goto undecided /* the answer is lost */
        :: fault -> late = true; goto undecided
        :: true -> request(); result = first
        fi
    }

answered:
    atomic {
        before = false;
        calling[_pid] = false;
        if
        :: result == NONE || result == PROCESSING -> goto undecided /* -> internal/core/payment/settle_payment.go: undecided: return ErrUndecided */
        :: else
        fi
    }

begin: /* -> internal/core/payment/settle_payment.go: Service.SettlePayment: op, err := tx.OrderPayments.LockByPayment(ctx, paymentID) */
    atomic {
        if
        :: fault -> goto forget
        :: lockOrder()
        fi
    }

apply: /* -> internal/core/payment/settle_payment.go: Service.SettlePayment: mismatch, err = tx.applyCharge(ctx, op, op.payment(paymentID), result) */
    atomic {
        if
        :: fault -> unlockOrder(); goto forget
        :: true -> settle(result); unlockOrder()
        fi
    }

complete:
    atomic {
        if
        :: fault -> goto forget
        :: job == RUNNING -> job = GONE
        :: job != RUNNING
        fi;
        goto forget
    }

undecided: /* -> internal/adapters/in/jobs/settle.go: settleWorker.NextRetry: wait := time.Second << min(job.Attempt-1, 9) */
    atomic {
        if
        :: job == RUNNING -> job = AVAILABLE
        :: else
        fi
    }

forget:
    atomic { /* irrelevant from here on */
        calling[_pid] = false;
        before = false;
        result = 0;
        goto end_fetch
    }
}

active [RECEIVERS] proctype Receiver() {
    byte event, read;

end_find: /* -> internal/adapters/out/postgres/inbox.go: inbox.Recall: row, err := fetch.Find(ctx, s.tx, (*queries).RecallMessage, dbsqlc.RecallMessageParams{Source: source, MessageID: id}) */
    atomic {
        if
        :: due[PAID] -> event = PAID
        :: due[CANCELLED] -> event = CANCELLED /* -> internal/adapters/out/stripe/webhook.go: chargeEvents: "payment_intent.canceled": */
        :: due[STRAY] -> event = STRAY
        fi;
        if
        :: inbox[event] -> goto acknowledge
        :: else
        fi
    }

begin: /* -> internal/core/payment/apply_provider_event.go: Tx.applyReport: op, p, err := tx.lockByPaymentKey(ctx, result.Payment) */
    atomic {
        if
        :: fault -> goto end_find
        :: lockOrder()
        fi
    }

commit: /* -> internal/core/payment/apply_provider_event.go: Service.ApplyProviderEvent: mismatch, err = tx.applyReport(ctx, event.Report) */
    atomic {
        if
        :: fault -> unlockOrder(); goto end_find
        :: inbox[event] -> unlockOrder(); goto end_find /* -> internal/adapters/out/postgres/pgtx/errors.go: lostRace: case "23505": */
        :: !inbox[event] ->
            inbox[event] = true;
            if
#ifndef SETTLE_WITHOUT_AMOUNT
            :: event == STRAY && read == PROCESSING -> insertJob() /* -> internal/core/payment/apply_provider_event.go: Tx.applyReport: return mismatch, tx.Intents.Settle(ctx, p.ID) */
            :: event == STRAY && read != PROCESSING /* -> internal/core/payment/cards/difference.go: Terms.Difference: case !r.Amount.Equal(t.Amount): */
#endif
            :: else -> settle((event == CANCELLED -> FAILED : SUCCEEDED))
            fi;
            unlockOrder()
        fi
    }

acknowledge:
    atomic {
        if
        :: fault /* the provider sends it again */
        :: due[event] = false
        fi;
        event = 0;
        goto end_find
    }
}

/* The provider's spontaneous steps. */
active proctype Provider() {
    bool strayed;
end:
    do
    :: atomic { charge == PROCESSING -> capture() }
    :: atomic { charge == PROCESSING -> charge = FAILED; due[CANCELLED] = true }
    :: atomic { charge == FAILED && status == FAILED -> capture() } /* late */
    :: atomic { late -> late = false; request() }
    :: atomic { charge != NONE && !searchable -> searchable = true }
    /* It keeps the key while a request may be under way, and until its search finds what
     * the request did. */
    :: atomic {
        known && !late && !calling[0] && !calling[1] && (searchable || charge == NONE) ->
        known = false; first = 0
    }
    :: atomic { status != NONE && !strayed -> strayed = true; due[STRAY] = true }
    od
}

/* The client that confirms the payment, River, and the sweep. */
active proctype Jobs() {
    atomic {
        status = PROCESSING; /* -> internal/core/payment/confirm_payment.go: Service.payByCard: if err := tx.Payments.Save(ctx, p); err != nil { */
        job = AVAILABLE /* -> internal/core/payment/confirm_payment.go: Service.payByCard: if err := tx.Intents.Settle(ctx, p.ID); err != nil { */
    };
end:
    do
    :: atomic { job == RUNNING -> job = AVAILABLE } /* -> internal/adapters/in/jobs/jobs.go: clientConfig: RescueStuckJobsAfter: */
#ifndef JOB_NEVER_RESTORED
    :: atomic { status == PROCESSING && job == GONE -> insertJob() } /* -> internal/adapters/out/postgres/reconcile/restore.go: Store.RestorePaymentJobs: return restoreJobs(ctx, s.db, SettlePayment, rows, err, func(row dbsqlc.UndecidedPaymentsRow) core.Position { */
#endif
    :: atomic { job != GONE && faults < FAULTS -> faults++; job = GONE; attempt = 0 }
    od
}

/* In the end the payment is settled, the ledger says what the provider moved, and a late
 * capture is given back. */
#define settled (status != PROCESSING && status != NONE && entries == moved && \
    (status == FAILED || refunds == 0) && (status == SUCCEEDED || refunds == moved))

/* With weak fairness, Spin checks only executions that go on forever. This process checks
 * those that end. */
active proctype Quiescence() {
end:
    timeout -> assert(settled)
}

/* Each retry disables the step in which the provider forgets its key, so weak fairness
 * alone lets it repeat a stored 500 forever. It forgets between two retries: a key lives
 * for a day, and retries are five minutes apart. */
/* -> internal/adapters/in/jobs/settle.go: settleWorker.NextRetry: const longest = 5 * time.Minute */
ltl settles { ([] <> !(known && first == NONE)) -> <> [] settled }
