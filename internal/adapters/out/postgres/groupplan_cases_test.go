package postgres_test

// groupPlanCases holds the bounds of the queries of groups. Each of them is about several
// commands: present and absent rows, twice the same, with and without a grant. A bound of
// rows is the number of look-ups: EXPLAIN rounds the average rows of a look-up up.
var groupPlanCases = map[string][]planCase{
	// Idempotency records.
	"BeginGroup":  {{args: "'50ms'"}},
	"AwaitKey":    {{args: "7"}},
	"TryLockKeys": {{args: "'{7,8,7}'"}},
	"FindRecords": {
		{args: "'{hot,hot,nobody}', '{key-15000,absent,key-15000}'", rows: 1, buffers: 12},
		{args: "'{hot,hot,hot}', '{key-3,key-15000,key-15000}'", rows: 3, buffers: 12},
	},
	"InsertRecords": {{args: `'{hot,hot}', '{new-1,new-2}', '{"",""}', '{creditBalance,creditBalance}', '{201,409}', '{"",""}', '{"",""}', '{"{}","{}"}', now(), ARRAY[now(), now()], '{0,6h}'`,
		buffers: 60}},

	// Products.
	"LockStock": {
		{args: "'{sku-5,sku-15000,sku-5,absent}', '{}', '{}', '{}', '{}', '{}', '{}'", rows: 2, buffers: 20},
		{args: "'{}', '{sku-5,sku-15000,absent}', '{hot-seller,nobody,nobody}', '{}', '{}', '{}', '{}'", rows: 4, buffers: 20},
		{args: "'{sku-7}', '{sku-5}', '{hot-seller}', '{15000,15001,15001,900001}', '{t,f,f,t}', '{\"\",customer-15001,nobody,\"\"}', '{\"\",nobody,nobody,\"\"}'",
			rows: 11, buffers: 50},
		{args: "'{}', '{}', '{}', '{15000,15001}', '{f,f}', '{nobody,nobody}', '{nobody,nobody}'", rows: 4, buffers: 20},
	},
	"ProductsBySKU":     {{args: "'{sku-5,sku-15000,sku-5,absent}'", rows: 3, buffers: 14}},
	"UpdateStockOfMany": {{args: "'{sku-5,sku-15000}', '{9,9}', '{1,1}', '{2,2}', '{1,1}', '{0,0}'", rows: 2, buffers: 30}},

	// Orders.
	"OrdersExist": {{args: "'{5,15000,5,900001}'", rows: 3, buffers: 14}},
	"LockOrders": {
		{args: "'{15000,15000,15001,900001}', '{t,f,f,t}', '{\"\",hot,customer-15001,\"\"}', '{\"\",nobody,nobody,\"\"}'", rows: 8, buffers: 40},
		{args: "'{5,15000}', '{f,f}', '{nobody,nobody}', '{nobody,nobody}'", rows: 2, buffers: 12},
	},
	"OrdersByOperation": {
		{args: "'{hot,hot,nobody}', '{hot,hot,nobody}', '{key-15000,absent,key-15000}'", rows: 3, buffers: 24},
		{args: "'{hot,hot,hot}', '{hot,hot,hot}', '{key-14000,key-15000,key-15000}'", rows: 7, buffers: 36},
	},
	"OrdersByReference": {
		{args: "'{hot,hot,nobody,hot}', '{hot,hot,hot,shop}', '{reference-15000,absent,reference-15000,reference-15000}'", rows: 1, buffers: 24},
	},
	"LockCreators": {{args: "'{1,1,3,1}', '{2,2,4,1}'"}},
	"CountUnpaidOrdersOf": {
		{args: "'{customer-15001,hot,absent}', '{customer-15001,hot,absent}', 114", rows: 1, buffers: 14},
		{args: "'{hot,debtor}', '{hot,debtor}', 50", rows: 50, buffers: 60},
	},
	"InsertOrders": {{args: "'{900001,900002}', '{hot,new}', '{hot-seller,hot-seller}', '{pending_payment,paid}', '{1.00,2.00}', '{RUB,RUB}', " +
		"ARRAY[now(), '0001-01-01 00:00:00+00'], '{1,1}', '{hot,new}', '{new,new}', ARRAY[now(), now()], ARRAY[now(), now()], '{new,\"\"}'", buffers: 170}},
	"InsertItemsOfOrders": {{args: "'{15002,15004}', '{2,2}', '{a,b}', '{1,1}', '{1,1}'", buffers: 40}},
	"UpdateOrders": {{args: "'{15000,15002}', '{cancelled,pending_payment}', ARRAY['0001-01-01 00:00:00+00', now()], '{2,2}', '{1,1}', ARRAY[now(), now()], " +
		"'{hot,\"\"}', '{key,\"\"}', '{late,\"\"}'",
		rows: 2, buffers: 100}},

	// Payments and refunds.
	"PaymentsOfOrders": {{args: "'{15000,15002,900001}'", rows: 3, buffers: 24}},
	"RefundsOfOrders":  {{args: "'{15000,15002,900001}'", rows: 3, buffers: 24}},
	"InsertPayments": {{args: "'{900001,900002}', '{15002,15004}', '{new,new}', '{1.00,2.00}', '{RUB,RUB}', '{balance,balance}', '{failed,failed}', " +
		"'{\"\",\"\"}', '{\"\",\"\"}', '{hot,new}', ARRAY[now(), now()]", buffers: 170}},

	// Balances and the ledger.
	"LockBalances": {
		{args: "'{hot,customer-15001,hot,absent}', '{RUB,RUB,RUB,RUB}', '{}', '{}', '{}', '{}'", rows: 3, buffers: 20},
		{args: "'{hot}', '{RUB}', '{15000,15001,15001,900001}', '{t,f,f,t}', '{\"\",customer-15001,nobody,\"\"}', '{\"\",nobody,nobody,\"\"}'",
			rows: 6, buffers: 28},
		{args: "'{}', '{}', '{5,15000}', '{f,f}', '{nobody,nobody}', '{nobody,nobody}'", rows: 2, buffers: 12},
	},
	"InsertBalances": {{args: "'{new-1,new-2}', '{RUB,RUB}', '{1.00,2.00}', '{1,1}', ARRAY[now(), now()]", buffers: 50}},
	// Of a customer with balances in two currencies, the statement would read both.
	"UpdateBalances": {{args: "'{hot,customer-15001}', '{RUB,RUB}', '{1.00,2.00}', '{2,2}', ARRAY[now(), now()], '{0,0}'", rows: 2, buffers: 40}},
	"LedgerEntriesByOperation": {
		{args: "'{hot,hot,nobody}', '{hot,hot,nobody}', '{key-15000,absent,key-15000}'", rows: 1, buffers: 14},
		{args: "'{hot,hot}', '{hot,hot}', '{key-14000,key-15000}'", rows: 2, buffers: 12},
	},
	"LedgerEntriesByReference": {
		{args: "'{hot,hot,nobody}', '{credit,credit,credit}', '{reference-15000,absent,reference-15000}'", rows: 1, buffers: 14},
		{args: "'{hot,hot}', '{credit,charge}', '{reference-15000,reference-15000}'", rows: 1, buffers: 12},
	},
	"InsertLedgerEntries": {{args: "'{900001,900002}', '{credit,credit}', '{bank,bank}', '{customer/hot,customer/new}', '{1.00,2.00}', '{RUB,RUB}', '{hot,new}', " +
		"'{1.00,2.00}', '{900001,900002}', '{0,0}', '{0,0}', '{\"\",\"\"}', '{new,\"\"}', '{hot,new}', '{new,new}', ARRAY[now(), now()]", buffers: 170}},

	// The outbox and the audit log.
	"InsertEvents": {{args: "now(), '{00000000-0000-7000-8000-000000000000,00000000-0000-7000-8000-000000000001}', '{order.paid,order.paid}', " +
		"'{order/1,order/2}', ARRAY['{}', '{}'], ARRAY['', '']", rows: 1, buffers: 70, scanned: 1}},
	"InsertAuditEntries": {{args: "'{admin,root}', now(), '{GetOrder,GetOrder}', '{order/1,order/2}', ARRAY['{}', '{}']", buffers: 60}},

	// Ids.
}
