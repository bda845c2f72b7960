package main

// groupMutants keep the commands apart that share a transaction.
var groupMutants = []mutant{
	{
		"a refused command of a group leaves no change",
		"internal/adapters/out/postgres/member.go",
		`if !result.Refused {`, `if true {`,
		store, "TestGroup_RefusedCommandLeavesNothing",
	},
	{
		"commands of a group work on copies of a balance",
		"internal/adapters/out/postgres/group_state.go",
		`return copyOf(b), nil`, `return b, nil`,
		store, "TestGroup_RefusedCommandLeavesNothing",
	},
	{
		"commands of a group work on copies of the stock",
		"internal/adapters/out/postgres/group_state.go",
		`basket.Stock[sku] = copyOf(p)`, `basket.Stock[sku] = p`,
		store, "TestGroup_RefusedCommandLeavesNothing",
	},
	{
		"a group sells only stock that it has locked",
		"internal/adapters/out/postgres/group_state.go",
		`return &p, found && !g.Covers(p.Owners())`, `return &p, found`,
		store, "TestGroup_SellsNothingThatItHasNotLocked",
	},
	{
		"a group writes over no stock that it has not read",
		"internal/adapters/out/postgres/dbsqlc/product.sql.go",
		`p.version = w.read_version AND p.reserved = w.read_reserved`, `p.version = w.read_version`,
		store, "TestGroup_WritesOverNothingThatItHasNotRead",
	},
	{
		"a group writes over no balance that it has not read",
		"internal/adapters/out/postgres/dbsqlc/balance.sql.go",
		`b.position = w.read_position`, `true`,
		store, "TestGroup_WritesOverNothingThatItHasNotRead",
	},
	{
		"a group writes over no order that it has not read",
		"internal/adapters/out/postgres/dbsqlc/order.sql.go",
		`o.version = w.read_version`, `true`,
		store, "TestGroup_WritesOverNothingThatItHasNotRead",
	},
	{
		"a refund counts once, however many commands want its order",
		"internal/adapters/out/postgres/group_load.go",
		`ids = slices.Compact(ids)`, ``,
		store, "TestGroup_PriorRefundsCountOnce",
	},
	{
		"a command does not join after a write that the group does not see",
		"internal/adapters/out/postgres/group_state.go",
		`case g.mixed[w.id]:`, `case false:`,
		store, "TestGroup_OrderIsNotRefundedBeyondItsPayment",
	},
	{
		"a group counts the unpaid orders that it creates",
		"internal/adapters/out/postgres/order.go",
		`g.unpaidOrders[by]++`, `_ = by`,
		store, "TestGroup_CountsTheUnpaidOrdersOfItsCommands",
	},
	{
		"a command whose request is gone does not run",
		"internal/adapters/out/postgres/member.go",
		"\tif m.answered {\n\t\treturn idempotency.Result{}, errAnswered\n\t}\n", "",
		store, "TestGroup_CommandThatIsGoneInItsGroupDoesNotRun",
	},
	{
		"a command that has run does not know its outcome before the commit",
		"internal/adapters/out/postgres/member.go",
		`m.ran = m.wants != nil`, `m.ran = false`,
		store, "TestGroup_OutcomeIsUnknownToWhoLeavesBeforeTheCommit",
	},
	{
		"a lost answer to COMMIT is unknown to the whole group",
		"internal/adapters/out/postgres/group.go",
		`g.settleUnknown(err)`, `k.settle(g)`,
		store, "TestGroup_LostAnswerToCommit",
	},
	{
		"a panic is of one command of a group",
		"internal/adapters/out/postgres/member.go",
		`defer panics.Catch(&err)`, `_ = panics.Catch`,
		store, "TestGroup_PanicIsOfOneCommand",
	},
	{
		"a key is in a group once",
		"internal/adapters/out/postgres/keys.go",
		`if !k.inFlight.enter(c.ID) {`, `if k.inFlight.enter(c.ID); false {`,
		store, "TestGroup_HasAKeyOnce",
	},
	{
		"a group does not wait for a row that another transaction holds",
		"internal/adapters/out/postgres/suited.go",
		`FormatInt(timeout.Milliseconds(), 10)`, `FormatInt(timeout.Milliseconds()*0, 10)`,
		store, "TestGroup_HeldRowDelaysWhoWantsIt",
	},
	{
		"a group that waited in vain is split",
		"internal/adapters/out/postgres/group.go",
		`case !separable(err):`, `case true:`,
		store, "TestGroup_HeldRowDelaysWhoWantsIt",
	},
	{
		"a command that wants a held row stays out of groups",
		"internal/adapters/out/postgres/group.go",
		`m.draft.alone = k.held.any(m.wants)`, `m.draft.alone = false`,
		store, "TestGroup_HeldRowDelaysWhoWantsIt",
	},
	{
		"a command whose request is gone holds no row",
		"internal/adapters/out/postgres/group.go",
		`if !m.settle(f) {`, `if m.settle(f) && false {`,
		store, "TestSettleAlone_HoldsNoRowForWhoIsGone",
	},
	{
		"principals take turns",
		"internal/adapters/out/postgres/lanes.go",
		"\tq.turns = append(q.turns, scope)\n\t}\n\tq.size", "\tq.turns = append([]idempotency.Scope{scope}, q.turns...)\n\t}\n\tq.size",
		store, "TestWaitingLine_TakesTurns",
	},
	{
		"a lane is passed on when its group takes long",
		"internal/adapters/out/postgres/lanes.go",
		`time.AfterFunc(keepLane, taken.leave)`, `time.AfterFunc(time.Hour, taken.leave)`,
		store, "TestLanes_AreNotKept",
	},
	{
		"a group locks orders",
		"internal/adapters/out/postgres/dbsqlc/order.sql.go",
		"ORDER BY o.id, i.line\nFOR UPDATE OF o", "ORDER BY o.id, i.line",
		store, "TestGroup_LocksWhatItsCommandsChange",
	},
	{
		"a group locks the stock",
		"internal/adapters/out/postgres/dbsqlc/product.sql.go",
		"as_seller\n))\nORDER BY sku\nFOR UPDATE", "as_seller\n))\nORDER BY sku",
		store, "TestGroup_LocksWhatItsCommandsChange",
	},
	{
		"a group locks balances",
		"internal/adapters/out/postgres/dbsqlc/balance.sql.go",
		`x.currency = w.currency FOR UPDATE`, `x.currency = w.currency`,
		store, "TestGroup_LocksWhatItsCommandsChange",
	},
}
