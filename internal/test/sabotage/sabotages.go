package main

import "example.com/orders/internal/test/overlay"

// sabotage is a way to break the service, and the fault whose run must notice it.
type sabotage struct {
	name  string
	fault string
	// strikes is how often the fault strikes; 0 as often as usual.
	strikes int
	edits   []overlay.Edit
}

const (
	keys         = "internal/adapters/out/postgres/keys.go"
	recent       = "internal/adapters/out/postgres/recent.go"
	productSQL   = "internal/adapters/out/postgres/dbsqlc/product.sql.go"
	changes      = "internal/core/payment/change_balance.go"
	settle       = "internal/core/payment/settle_payment.go"
	difference   = "internal/core/payment/difference.go"
	charge       = "internal/adapters/out/stripe/charge.go"
	relay        = "internal/outbox/relay.go"
	outbox       = "internal/adapters/out/postgres/outbox.go"
	commit       = "internal/adapters/out/postgres/commit.go"
	jobs         = "internal/adapters/in/jobs/settle.go"
	firstRecord  = "migrations/0001_idempotency.up.sql"
	firstPayment = "migrations/0003_payments.up.sql"
)

// everyCommandAlone lets no commands share a transaction. The sabotages that need it break
// the path of a command that runs alone.
var everyCommandAlone = overlay.Edit{
	File: "internal/config/config.go", Before: `"ORDERS_COMMAND_LANES" envDefault:"2"`, After: `"ORDERS_COMMAND_LANES" envDefault:"0"`,
}

var sabotages = []sabotage{
	{
		// The index alone is not missed: the look-up of the operation comes before it.
		name: "no unique index", fault: "none", strikes: 15,
		edits: []overlay.Edit{
			{File: firstPayment, Before: "UNIQUE (customer_id, created_by, idempotency_key)", After: "UNIQUE (id, created_by, idempotency_key)"},
			{File: changes, Before: `locked.Prior != nil; repeated {`, After: `false; repeated {`},
		},
	},
	{
		name: "response stored after commit", fault: "lost-commit-answer",
		edits: []overlay.Edit{
			everyCommandAlone,
			{File: keys, Before: `return t.storeRecord(ctx, rec, stored != nil)`, After: `return nil`},
			{File: keys, Before: `	if err == nil {
		k.recent.put(`, After: `	if err == nil && !replayed {
		err = k.db.transact(ctx, func(ctx context.Context, t *tx) error {
			if _, _, err := t.claimKey(ctx, a.claim.ID, false); err != nil {
				return err
			}
			return t.storeRecord(ctx, rec, true)
		})
	}
	if err == nil {
		k.recent.put(`},
		},
	},
	{
		name: "no provider key", fault: "bad-provider",
		edits: []overlay.Edit{{File: charge, Before: "	params.SetIdempotencyKey(c.Payment)\n", After: ""}},
	},
	{
		// A balance would not show it: the place in its ledger is unique.
		name: "no row lock", fault: "none", strikes: 5,
		edits: []overlay.Edit{
			everyCommandAlone,
			{File: productSQL, Before: "AND ($2::bool OR seller_id = $3)\nORDER BY sku\nFOR UPDATE", After: "AND ($2::bool OR seller_id = $3)\nORDER BY sku"},
		},
	},
	{
		name: "no row lock in a group", fault: "none", strikes: 5,
		edits: []overlay.Edit{
			overlay.Grouped("."),
			{File: productSQL, Before: "as_seller\n))\nORDER BY sku\nFOR UPDATE", After: "as_seller\n))\nORDER BY sku"},
			{File: productSQL, Before: `CASE WHEN p.version = w.read_version AND p.reserved = w.read_reserved THEN w.version ELSE 0 END`, After: `w.version`},
		},
	},
	{
		// Two records of one key would not be stored: the primary key is behind the lock.
		name: "look-up before the lock", fault: "two-replicas-one-key", strikes: 10,
		edits: []overlay.Edit{
			everyCommandAlone,
			{File: firstRecord, Before: "PRIMARY KEY (scope, key)", After: "CHECK (true)"},
			{File: keys, Before: `	err := t.load(ctx,
		func(q *dbsqlc.Queries) (err error) {
			locked, err = q.TryLockKey(ctx, lockID(id))
			return err
		},
		findRecord(ctx, id, &stored))
	t.now`, After: `	if err := t.load(ctx, findRecord(ctx, id, &stored)); err != nil {
		return locked, stored, err
	}
	err := t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		locked, err = q.TryLockKey(ctx, lockID(id))
		return err
	})
	t.now`},
		},
	},
	{
		name: "memory never forgotten", fault: "failover-asynchronous",
		edits: []overlay.Edit{{File: recent, Before: `found.generation == r.generation && time.Since(r.seen) < trustFor`, After: `(true || time.Since(r.seen) < trustFor)`}},
	},
	{
		name: "relay marks first", fault: "bad-broker",
		edits: []overlay.Edit{{File: relay, Before: `	acked, err := r.Publisher.Publish(leased, events)
	return len(events), errors.Join(err, r.mark(ctx, acked))`, After: `	var ids []uuid.UUID
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	marked := r.mark(ctx, ids)
	_, err = r.Publisher.Publish(leased, events)
	return len(events), errors.Join(err, marked)`}},
	},
	{
		name: "relay waits for no standby", fault: "standby-gone-failover",
		edits: []overlay.Edit{{File: outbox, Before: `case err == nil && rows[0].Synchronous:`, After: `case err == nil && rows[0].Synchronous && false:`}},
	},
	{
		name: "commit cancelled", fault: "standby-gone-failover",
		edits: []overlay.Edit{
			{File: commit, Before: `t.sendWrites(context.WithoutCancel(ctx), conn)`, After: `t.sendWrites(ctx, conn)`},
			{File: commit, Before: `if underWay.Load() {`, After: `if false {`},
		},
	},
	{
		name: "asked before by the attempt", fault: "bad-provider",
		edits: []overlay.Edit{
			{File: jobs, Before: `return w.settle(ctx, job.Args.id())`, After: `return w.settle(context.WithValue(ctx, "attempt", job.Attempt), job.Args.id())`},
			{File: settle, Before: `before = asked(p.Card.AskedAt, p.CreatedAt, tx.Now)`, After: `attempt, _ := ctx.Value("attempt").(int)
		before = attempt > 1`},
		},
	},
	{
		name: "settled without comparing", fault: "bad-provider",
		edits: []overlay.Edit{{File: difference, Before: `case !r.Amount.Equal(t.Amount):`, After: `case false:`}},
	},
}
