package main

// hoardingMutants are the bounds against hoarding, and the deletion of a profile.
var hoardingMutants = []mutant{
	{
		"hoarding: a customer has a bounded number of unpaid orders",
		"internal/core/order/create_order.go",
		`if maxUnpaid > 0 && b.Unpaid >= maxUnpaid {`, `if false {`,
		"./internal/test/core", "TestCreateOrder_BoundsTheUnpaidOrdersOfAnActor",
	},
	{
		"hoarding: a reservation is extended a bounded number of times",
		"internal/core/order/reserve_inventory.go",
		`if limit > 0 && r.Extensions >= limit && r.Order.Status == PendingPayment {`, `if false {`,
		"./internal/test/core", "TestReserveInventory_BoundsTheExtensionsOfAnOrder",
	},
	{
		"hoarding: concurrent orders of a customer are counted one by one",
		"internal/adapters/out/postgres/dbsqlc/order.sql.go",
		`SELECT pg_advisory_xact_lock($1::int, $2::int)`, `SELECT $1::int, $2::int`,
		"./internal/test/e2e/commands", "TestHoarding_BoundHoldsForConcurrentOrders",
	},
	{
		"hoarding: unpaid orders are counted after the lock",
		"internal/adapters/out/postgres/order.go",
		`reads = append(countUnpaid(ctx, query, &unpaid), reads...)`,
		`counted := countUnpaid(ctx, query, &unpaid); reads = append([]read{counted[1], counted[0]}, reads...)`,
		"./internal/adapters/out/postgres", "TestStore/transactions_that_count_the_same_unpaid_orders_run_one_after_the_other",
	},
	{
		"hoarding: a seller's orders do not count for the customer",
		"internal/adapters/out/postgres/dbsqlc/order.sql.go",
		`WHERE customer_id = $1 AND created_by = $2
      AND status IN`, `WHERE customer_id = $1 AND $2::text <> ''
      AND status IN`,
		"./internal/adapters/out/postgres", "TestStore/a_basket_counts_the_unpaid_orders_that_its_actor_created",
	},
	{
		"hoarding: an order whose card payment is processing counts",
		"internal/adapters/out/postgres/dbsqlc/order.sql.go",
		`AND status IN ('pending_payment', 'payment_processing') AND created_by >= ''`,
		`AND status IN ('pending_payment') AND created_by >= ''`,
		"./internal/adapters/out/postgres", "TestStore/a_basket_counts_the_unpaid_orders_that_its_actor_created",
	},
	{
		"hoarding: a repeated operation is answered whatever the bound",
		"internal/core/order/reserve_inventory.go",
		`if o, repeated = reservation.Order, reservation.Repeated; repeated {
			return nil
		}`, `o, repeated = reservation.Order, false`,
		"./internal/test/core", "TestReserveInventory_CountsWhatTookEffect",
	},
	{
		"hoarding: the service has both bounds by default",
		"cmd/orders/app/app.go",
		`MaxExtensions: cfg.ReservationExtensions, MaxUnpaidOrders: cfg.UnpaidOrders,`, ``,
		"./internal/test/e2e/commands", "TestHoarding_BoundHoldsForConcurrentExtensions",
	},
	{
		"a deleted profile is gone",
		"internal/adapters/out/postgres/dbsqlc/profile.sql.go",
		`DELETE FROM customer_profile WHERE customer_id = $1`,
		`UPDATE customer_profile SET full_name = '', phone = '' WHERE customer_id = $1`,
		"./internal/test/e2e/commands", "TestDeleteProfile_LeavesNoPersonalData",
	},
	{
		"a deleted profile is in no statistics",
		"migrations/0015_unpaid_orders_and_profiles.up.sql",
		`ALTER COLUMN email SET STATISTICS 0`, `ALTER COLUMN email SET STATISTICS 100`,
		"./internal/test/e2e/commands", "TestDeleteProfile_LeavesNoPersonalData",
	},
	{
		"a profile is deleted only by its customer or an administrator",
		"internal/core/customer/delete_customer_profile.go",
		`if _, err := authorise(actor, customerID); err != nil {
		return err
	}`, ``,
		"./internal/test/core", "TestUseCases_AdmitOnlyWhoIsAllowed",
	},
	{
		"an administrator who deletes a profile is audited",
		"internal/core/customer/delete_customer_profile.go",
		`return core.AuditChange(ctx, tx.AuditLog, actor, "DeleteCustomerProfile", resource(customerID), auditMetadata(customerID))`,
		`return nil`,
		"./internal/test/core", "TestDeleteCustomerProfile_CanBeRepeated",
	},
	{
		"a profile is locked before it is deleted",
		"internal/core/customer/delete_customer_profile.go",
		`tx.Profiles.Lock(ctx, customerID)`, `tx.Profiles.Get(ctx, customerID)`,
		"./internal/test/e2e/commands", "TestDeleteProfile_IsAuditedOnceWhenConcurrent",
	},
}
