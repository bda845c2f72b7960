package main

import "example.com/orders/internal/test/overlay"

// sabotage is a way to break the service, and the fault whose run must notice it.
type sabotage struct {
	name  string
	fault string
	edits []overlay.Edit
}

const (
	settle     = "internal/core/payment/settle_payment.go"
	difference = "internal/core/payment/difference.go"
	jobs       = "internal/adapters/in/jobs/settle.go"
)

var sabotages = []sabotage{
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
