package main

// contractMutants are what the contract promises about reads and queries.
var contractMutants = []mutant{
	{
		"a payment is read by the owners of its order",
		"internal/core/payment/get_payment.go",
		`order.ReadGrant(actor).Authorise(owners)`, `core.GrantEverybody.Authorise(owners)`,
		"./internal/test/core", "TestUseCases_AdmitOnlyWhoIsAllowed",
	},
	{
		"a refund is read by the owners of its order",
		"internal/core/payment/get_refund.go",
		`order.ReadGrant(actor).Authorise(owners)`, `core.GrantEverybody.Authorise(owners)`,
		"./internal/test/core", "TestUseCases_AdmitOnlyWhoIsAllowed",
	},
	{
		"an actor finds by reference only what they created",
		"internal/core/order/list_orders.go",
		`filter.CreatedBy = actor.Subject`, `_ = actor.Subject`,
		"./internal/test/core", "TestReference_OfAnOrderBelongsToItsCreator",
	},
	{
		"a query has no unknown parameter",
		"internal/adapters/in/http/query.go",
		`case !slices.Contains(known, name):`, `case false:`,
		httpAPI, "TestCheckQuery_NamesEachParameter",
	},
	{
		"a parameter is sent once",
		"internal/adapters/in/http/query.go",
		`case len(values) > 1:`, `case false:`,
		httpAPI, "TestCheckQuery_NamesEachParameter",
	},
	{
		"a query is checked before the key is claimed",
		"internal/adapters/in/http/api.go",
		`a.contract.queries[rt.operation]); err != nil {`, `a.contract.queries[rt.operation]); err != nil && !rt.guarded {`,
		httpAPI, "TestGuardedCommand_UnknownQueryParameterLeavesKeyFree",
	},
	{
		"an ID is exact in JSON",
		"internal/adapters/in/http/params.go",
		` || id > maxID`, ``,
		httpAPI, "TestGuardedCommand_MalformedPathParameterLeavesKeyFree",
	},
	{
		"the sequences end where IDs are exact in JSON",
		"migrations/0016_filters_and_times.up.sql",
		`ALTER TABLE refund           ALTER COLUMN id SET MAXVALUE 9007199254740892;`, ``,
		"./migrations", "TestSequences_EndBeforeIDsThatClientsCannotRead",
	},
}
