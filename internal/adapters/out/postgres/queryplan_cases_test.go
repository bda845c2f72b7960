package postgres_test

// planCase is one call of a query, and what it may cost.
type planCase struct {
	args string // parameters in order, as EXECUTE takes them
	rows int    // most rows that it may read, also those that it does not return
	// buffers is the most shared buffers that it may touch. A descent of an index takes
	// three of these tables; 20 000 entries of an index take a hundred and more.
	buffers int
	scanned int // most rows that sequential scans may read
}

// planCases holds the bounds of every query of this package. tableFills says
// what the tables contain: "hot" is a customer with most of the orders, entries and keys,
// and "hot-seller" a seller with most of the orders, "debtor" a customer with most of the
// unpaid ones.
var planCases = map[string][]planCase{
	// Idempotency records.
	"LookAtKey":            {{args: "7", rows: allLocks, buffers: 6}},
	"DeleteExpiredRecord":  {{args: "'hot', 'key-3'", rows: 1, buffers: 8}},
	"AwaitReplication":     {{}},
	"CountExpiredRecords":  {{args: "5", rows: 10, buffers: 20}, {args: "10000", rows: 5000, buffers: 2000}},
	"DeleteExpiredRecords": {{args: "5", rows: 10, buffers: 50}, {args: "3000", rows: 4000, buffers: 16000}},

	// The rows of a command that has its transaction to itself.
	"LockBalance":        {{args: "'hot', 'RUB'", rows: 1, buffers: 8}},
	"LockBalanceOfOrder": {{args: "15000, true, '', ''", rows: 2, buffers: 12}, {args: "15000, false, 'nobody', ''", rows: 2, buffers: 12}},
	"LockOrder":          {{args: "15000, true, '', ''", rows: 2, buffers: 12}, {args: "15000, false, 'nobody', ''", rows: 2, buffers: 12}},
	"LockProducts":       {{args: "'{sku-5,sku-15000}'", rows: 2, buffers: 16}},
	"LockStockOfOrder":   {{args: "15000, true, '', ''", rows: 4, buffers: 20}, {args: "15000, false, 'nobody', ''", rows: 4, buffers: 20}},
	"UpdateBalance":      {{args: "'1.00', now(), 0, 2, 'hot', 'RUB'", rows: 1, buffers: 30}},
	"UpdateOrder":        {{args: "'delivered', NULL, now(), 1, 2, NULL, NULL, NULL, 15000", rows: 1, buffers: 50}},
	"InsertLedgerEntry": {{args: "900001, 'credit', 'bank', 'customer/hot', '1.00', 'RUB', 'hot', '1.00', 900001, NULL, NULL, '', 'new', 'hot', 'new', now()",
		buffers: 90}},
	"InsertEvent": {{args: "'00000000-0000-7000-8000-000000000000', 'order.paid', 'order/1', '{}', now(), ''",
		rows: 1, buffers: 40, scanned: 1}},
	"InsertRecord": {{args: `'hot', 'new', '\x00', 'creditBalance', 201, '', '', '', now(), now(), '6h'`, buffers: 40}},

	// Products.
	"ProductBySKU":  {{args: "'sku-15000'", rows: 1, buffers: 6}},
	"ProductExists": {{args: "'sku-15000'", rows: 1, buffers: 6}},
	"LockProduct":   {{args: "'sku-15000', true, NULL", rows: 1, buffers: 8}, {args: "'sku-15000', false, 'nobody'", rows: 1, buffers: 8}},
	"ListProducts":  {{args: "NULL, 0, 21", rows: 21, buffers: 30}, {args: later + ", 0, 21", rows: 21, buffers: 30}},
	"InsertProduct": {{args: "'new', 900001, 'hot-seller', 'Tea', '1.00', 'RUB', 5, 1, now(), now()", buffers: 40}},
	"UpdateProduct": {{args: "'Tea', '1.00', 'RUB', 9, 2, now(), 'sku-15000'", rows: 1, buffers: 30}},
	"StockAdjustmentByOperation": {
		{args: "'sku-15000', 'hot-seller', 'key-15000'", rows: 1, buffers: 6},
		{args: "'sku-15000', 'hot-seller', 'absent'", buffers: 6},
	},
	"StockReferenceTaken": {
		{args: "'sku-15000', 'hot-seller', 'reference-15000'", rows: 1, buffers: 6},
		{args: "'sku-15000', 'hot-seller', 'absent'", rows: 1, buffers: 6},
	},
	"InsertStockAdjustment": {{args: "900001, 'sku-15000', 1, 11, '', 'A-1', 'hot-seller', 'new', now()", buffers: 40}},

	// Orders.
	"OrderByID": {{args: "15000", rows: 2, buffers: 10}},
	"ListOrders": {
		{args: allStatuses + ", NULL, 0, NULL, 21", rows: pageOfEachStatus, buffers: 200},
		{args: allStatuses + ", " + later + ", 0, NULL, 21", rows: pageOfEachStatus, buffers: 200},
		{args: "'{pending_payment}', NULL, 0, NULL, 21", rows: 3 * 21, buffers: 200},
		{args: "'{pending_payment}', " + later + ", 0, NULL, 21", rows: 3 * 21, buffers: 200},
		{args: "'{shipped}', NULL, 0, NULL, 21", buffers: 10},
		{args: allStatuses + ", " + later + ", 0, " + earlier + ", 21", rows: pageOfEachStatus, buffers: 200},
		{args: allStatuses + ", NULL, 0, 'infinity', 21", buffers: 40},
		{args: allStatuses + ", " + earlier + ", 0, " + later + ", 21", buffers: 40},
	},
	// Parameters: statuses, customer, start, id, earliest, limit, seller.
	"ListOrdersOf": {
		{args: allStatuses + ", 'hot', NULL, 0, NULL, 21, NULL", rows: pageOfEachStatus, buffers: 200},
		{args: allStatuses + ", 'hot', " + later + ", 0, NULL, 21, NULL", rows: pageOfEachStatus, buffers: 200},
		{args: allStatuses + ", NULL, NULL, 0, NULL, 21, 'hot-seller'", rows: pageOfEachStatus, buffers: 200},
		{args: allStatuses + ", NULL, " + later + ", 0, NULL, 21, 'hot-seller'", rows: pageOfEachStatus, buffers: 200},
		{args: allStatuses + ", 'hot', NULL, 0, NULL, 21, 'hot-seller'", rows: 2 * pageOfEachStatus, buffers: 250},
		{args: "'{delivered}', 'hot', NULL, 0, NULL, 21, NULL", rows: 3 * 21, buffers: 200},
		{args: "'{cancelled}', NULL, " + later + ", 0, NULL, 21, 'hot-seller'", rows: 3 * 21, buffers: 200},
		{args: "'{pending_payment}', 'hot', NULL, 0, NULL, 21, NULL", buffers: 10},
		{args: "'{shipped}', 'hot', NULL, 0, NULL, 21, 'hot-seller'", buffers: 10},
		{args: allStatuses + ", 'customer-15001', NULL, 0, NULL, 21, NULL", rows: 3, buffers: 40},
		{args: allStatuses + ", NULL, NULL, 0, NULL, 21, NULL", buffers: 5},
		{args: allStatuses + ", 'hot', " + later + ", 0, " + earlier + ", 21, 'hot-seller'", rows: 2 * pageOfEachStatus, buffers: 250},
		{args: allStatuses + ", 'hot', NULL, 0, 'infinity', 21, 'hot-seller'", buffers: 60},
	},
	"ListOrdersBetween": {
		{args: allStatuses + ", 'hot-seller', 'hot', NULL, 0, NULL, 21", rows: pageOfEachStatus, buffers: 200},
		{args: "'{delivered}', 'hot-seller', 'hot', " + later + ", 0, NULL, 21", rows: 3 * 21, buffers: 200},
		{args: "'{pending_payment}', 'hot-seller', 'hot', NULL, 0, NULL, 21", buffers: 10},
		{args: allStatuses + ", 'hot-seller', 'customer-15001', NULL, 0, NULL, 21", rows: 3, buffers: 40},
		{args: allStatuses + ", 'seller-15000', 'customer-15001', NULL, 0, NULL, 21", buffers: 40},
		{args: allStatuses + ", 'hot-seller', 'hot', NULL, 0, 'infinity', 21", buffers: 40},
	},
	// Parameters: customer, reference, everybody, creator, as customer, as seller, statuses,
	// start, id, earliest, limit.
	"ListOrdersByReference": {
		{args: "NULL, 'till', true, '', '', '', " + allStatuses + ", NULL, 0, NULL, 21", rows: pageOfEachStatus, buffers: 200},
		{args: "NULL, 'till', true, '', '', '', " + allStatuses + ", " + later + ", 0, " + earlier + ", 21", rows: pageOfEachStatus, buffers: 200},
		{args: "NULL, 'till', true, '', '', '', '{shipped}', NULL, 0, NULL, 21", buffers: 10},
		{args: "NULL, 'till', true, '', '', '', " + allStatuses + ", NULL, 0, 'infinity', 21", buffers: 40},
		{args: "NULL, 'till', false, 'hot-seller', '', 'hot-seller', " + allStatuses + ", NULL, 0, NULL, 21", rows: pageOfEachStatus, buffers: 200},
		{args: "NULL, 'till', false, 'hot-seller', '', 'hot-seller', '{cancelled}', " + later + ", 0, NULL, 21", rows: 3 * 21, buffers: 200},
		{args: "NULL, 'till', false, 'nobody', '', 'nobody', " + allStatuses + ", NULL, 0, NULL, 21", buffers: 40},
		{args: "NULL, 'reference-15000', false, 'hot', 'hot', '', " + allStatuses + ", NULL, 0, NULL, 21", rows: 3, buffers: 40},
		{args: "'hot', 'reference-15000', false, 'hot', 'hot', '', " + allStatuses + ", NULL, 0, NULL, 21", rows: 3, buffers: 20},
		{args: "'hot', 'reference-15000', false, 'shop', '', 'shop', " + allStatuses + ", NULL, 0, NULL, 21", rows: 1, buffers: 10},
		{args: "'hot', 'reference-15000', true, '', '', '', " + allStatuses + ", NULL, 0, NULL, 21", rows: 3, buffers: 20},
		{args: "'hot', 'absent', true, '', '', '', " + allStatuses + ", NULL, 0, NULL, 21", buffers: 10},
	},
	// 1000 reservations have expired. While tables are new, it sorts all of them.
	"ExpiredReservations": {
		{args: "'-infinity', 0, 5", rows: 5, buffers: 15},
		{args: "'-infinity', 0, 500", rows: 500, buffers: 520},
	},
	"FindExtension":   {{args: "15000, 'hot', 'key-15000'", rows: 1, buffers: 6}},
	"CountExtensions": {{args: "15000, 8", rows: 1, buffers: 6}, {args: "0, 8", rows: 8, buffers: 14}},
	"InsertExtension": {{args: "15002, 'hot', 'new', now(), now()", buffers: 40}},

	// Payments and refunds.
	"PaymentByID":        {{args: "15000", rows: 2, buffers: 12}},
	"RefundByID":         {{args: "15000", rows: 2, buffers: 12}},
	"RefundsOfPayment":   {{args: "15000", rows: 1, buffers: 6}},
	"OrderOfPayment":     {{args: "15000", rows: 1, buffers: 6}},
	"OrderOfRefund":      {{args: "15000", rows: 1, buffers: 6}},
	"PaymentOfCharge":    {{args: "'charge-15000'", rows: 1, buffers: 6}, {args: "'absent'", buffers: 6}},
	"RefundOfExternal":   {{args: "'refund-15000'", rows: 1, buffers: 6}, {args: "'absent'", buffers: 6}},
	"OrderOfPaymentUUID": {{args: "'00000000-0000-4000-8000-000000015000'", rows: 1, buffers: 6}},
	"OrderOfRefundUUID":  {{args: "'00000000-0000-4000-8000-000000015000'", rows: 1, buffers: 6}},
	"InsertRefund": {{args: "900001, 15002, 15002, 'new', '1.00', 'RUB', 'pending', '', 'A-1', false, NULL, false, 'hot', now()",
		buffers: 90}},
	"UpdatePayment":      {{args: "'captured', NULL, NULL, NULL, 15000", rows: 1, buffers: 50}},
	"DisputesOfPayments": {{args: "'{5,14999}'", rows: 2, buffers: 20}},
	"OrderDisputed":      {{args: "15000", rows: 1, buffers: 10}},
	"EntryOfTransaction": {{args: "'transaction-15000', 'dispute'", rows: 1, buffers: 10}},
	"SaveDispute":        {{args: "'new', 15002, 15002, '1.00', 'RUB', 'general', 'lost', NULL, now()", buffers: 90}},
	"SearchDisputedPayments": {
		{args: "'{processing,captured,failed}', '{balance,card}', NULL, 0, NULL, 21", rows: 2 * 320, buffers: 1600},
		{args: "'{captured}', '{card}', " + later + ", 0, " + earlier + ", 21", rows: 2 * 320, buffers: 1600},
	},
	"SearchPayments": {
		{args: "'{processing,captured,failed}', '{balance,card}', NULL, 0, NULL, 21", rows: 3 * 21, buffers: 200},
		{args: "'{captured}', '{card}', " + later + ", 0, " + earlier + ", 21", rows: 2 * 21, buffers: 100},
	},
	"UndecidedPayments": {
		{args: "'-infinity', 0, 5", rows: 5, buffers: 15},
		{args: later + ", 15000, 500", rows: 500, buffers: 520},
	},
	"UndecidedRefunds": {
		{args: "'-infinity', 0, 5", rows: 5, buffers: 15},
		{args: later + ", 15000, 500", rows: 500, buffers: 520},
	},
	"UpdateRefund": {{args: "'succeeded', NULL, NULL, NULL, 15000", rows: 1, buffers: 40}},

	// Balances and the ledger.
	"BalancesOf": {{args: "'hot'", rows: 1, buffers: 6}},
	"ListLedgerEntries": {
		{args: "'hot', NULL, 0, NULL, 21", rows: 21, buffers: 30},
		{args: "'hot', " + later + ", 0, NULL, 21", rows: 21, buffers: 30},
		{args: "'customer-15001', NULL, 0, NULL, 21", rows: 2, buffers: 6},
		{args: "'hot', " + later + ", 0, " + earlier + ", 21", rows: 21, buffers: 30},
		{args: "'hot', NULL, 0, 'infinity', 21", buffers: 6},
	},
	"ListLedgerEntriesByReference": {
		{args: "'hot', 'reference-15000', NULL, 0, NULL, 21", rows: 2, buffers: 20},
		{args: "'hot', 'reference-15000', " + later + ", 0, NULL, 21", rows: 2, buffers: 20},
		{args: "'hot', 'absent', NULL, 0, NULL, 21", buffers: 16},
	},

	// Customers and messages.
	"ProfileOf":     {{args: "'customer-15001'", rows: 1, buffers: 6}},
	"LockProfile":   {{args: "'customer-15001'", rows: 1, buffers: 8}},
	"InsertProfile": {{args: "'new', '', '', '', now(), now()", buffers: 30}},
	"UpdateProfile": {{args: "'', '', '', now(), 'customer-15001'", rows: 1, buffers: 30}},
	"DeleteProfile": {{args: "'customer-15001'", rows: 1, buffers: 8}},
	"RecallMessage": {{args: "'stripe', 'message-15000'", rows: 2, buffers: 8, scanned: 1}},
	"InsertMessage": {{args: "'stripe', 'new', now(), now()", buffers: 40}},
	"RenewMessage":  {{args: "now(), now(), 'stripe', 'message-15000'", rows: 1, buffers: 40}},
	"DeleteOldMessages": {
		{args: "5", rows: 11, buffers: 50, scanned: 1},
		{args: "3000", rows: 4001, buffers: 16000, scanned: 1}, // more than there are
	},

	// The outbox.
	// It may read all databases of the cluster, once when a process starts.
	"RenewIncarnation": {{rows: 1000, buffers: 50, scanned: 1}},
	"TakeLease":        {{args: "'relay', 10", rows: 1, buffers: 10, scanned: 1}},
	"ReleaseLease":     {{args: "'relay'", rows: 1, buffers: 10, scanned: 1}},
	"UnpublishedEvents": {
		{args: "10", rows: 10, buffers: 20},
		{args: "500", rows: 60, buffers: 60},
	},
	"MarkPublished":       {{args: "ARRAY[md5('19991'), md5('19992')]::uuid[]", rows: 4, buffers: 40}},
	"UndispatchedEvents":  {{args: "10", rows: 11, buffers: 30, scanned: 1}, {args: "500", rows: 62, buffers: 70, scanned: 1}},
	"MarkDispatched":      {{args: "ARRAY[md5('19991'), md5('19992')]::uuid[]", rows: 4, buffers: 40}},
	"InsertDeliveries":    {{args: "ARRAY[md5('19991'), md5('19992')]::uuid[], '{a,b}', '{*,order.*}'", rows: 8, buffers: 80}},
	"DueEndpoints":        {{args: "10", rows: 12, buffers: 60}},
	"LockOrderedEndpoint": {{args: "2", rows: 1, buffers: 8}},
	"ClaimDeliveries":     {{args: "60, 1, 8", rows: 60, buffers: 400}, {args: "60, 2, 8", rows: 150, buffers: 500}, {args: "60, 4, 8", rows: 4, buffers: 12}},
	"DeliveryBacklog":     {{args: "10", rows: 60, buffers: 150, scanned: 1}, {args: "10000", rows: 10_060, buffers: 2000, scanned: 1}},
	"DeleteOldDeliveries": {{args: "604800, 10", rows: 20, buffers: 60}, {args: "864000, 10", buffers: 10}},

	// Webhook endpoints and their deliveries. Endpoint 1 has most deliveries.
	"EndpointByID":     {{args: "15000", rows: 1, buffers: 6}},
	"EndpointsOfOwner": {{args: "'owner-15000'", rows: 1, buffers: 8}},
	"LockEndpoint":     {{args: "15000", rows: 1, buffers: 8}},
	"LockOwner":        {{args: "'owner-15000'"}},
	"ListEndpoints":    {{args: "NULL, 0, 21", rows: 21, buffers: 30}, {args: later + ", 0, 21", rows: 21, buffers: 30}},
	"ListEndpointsOfSeller": {
		{args: "'seller-15000', NULL, 0, 21", rows: 1, buffers: 8}, {args: "'seller-15000', " + later + ", 0, 21", rows: 1, buffers: 8},
		{args: "'nobody', NULL, 0, 21", buffers: 6},
	},
	"InsertEndpoint": {{args: "900001, 'new', 'new', 'https://example.com', '{*}', '', false, 'whsec_1', now()", buffers: 60}},
	"UpdateEndpoint": {
		{args: "'https://example.com/2', '{*}', '', true, NULL, NULL, NULL, NULL, NULL, now(), 15000", rows: 1, buffers: 60},
		{args: "'https://example.com/2', '{*}', '', true, 'whsec_2', now(), NULL, NULL, NULL, now(), 15000", rows: 1, buffers: 60},
	},
	"DeleteEndpoint": {{args: "4", rows: 1, buffers: 40}},
	"RetryDelivery":  {{args: "now(), 15001", rows: 1, buffers: 60}},
	"ListDeliveries": {
		{args: "'{pending,delivered,failed}', 1, NULL, 21", rows: 4 * 21, buffers: 200},
		{args: "'{pending,delivered,failed}', 1, 10000, 21", rows: 4 * 21, buffers: 200},
		{args: "'{failed}', 1, NULL, 21", buffers: 10}, {args: "'{pending}', 15003, NULL, 21", buffers: 10},
	},
	"NextDelivery":   {{rows: 1, buffers: 8, scanned: 1}},
	"NextEndpointID": {{buffers: 4}},
	"LockDelivery":   {{args: "15001, 2", rows: 1, buffers: 8}, {args: "15001, 1", rows: 1, buffers: 8}},
	"InsertDelivery": {{args: "900001, 1, '00000000-0000-7000-8000-000000000000', 'webhook_endpoint.test', 'webhook_endpoint/1', '{}', now()", buffers: 80}},
	"RecordAttempt":  {{args: "'delivered', NULL, 200, 'ok', NULL, now(), 15001, 0", rows: 4, buffers: 60}},

	"DeletePublishedEvents": {{args: "10, 60", rows: 40, buffers: 60}, {args: "10, 86400", rows: 20, buffers: 10}},
	"OutboxBacklog":         {{args: "10000", rows: 60, buffers: 30}, {args: "10", rows: 11, buffers: 20}},

	// The audit log.
	"ListAuditEntries": {{args: "NULL, 0, 21", rows: 21, buffers: 30}, {args: later + ", 0, 21", rows: 21, buffers: 30}},

	// Ids and the clock.
	"Now":                   {{args: "''"}},
	"Durability":            {{}},
	"DrawOrderID":           {{buffers: 2}},
	"DrawPaymentID":         {{buffers: 2}},
	"DrawRefundID":          {{buffers: 2}},
	"DrawLedgerEntryID":     {{buffers: 2}},
	"DrawProductID":         {{buffers: 2}},
	"DrawStockAdjustmentID": {{buffers: 2}},

	// Reconciliation. A page is 500 rows, each with a payment, a refund, or an entry. There
	// are 1000 reservations, of one product each.
	"CompareOrders":   {{args: "0, 500", rows: 5 * 500, buffers: 6500}, {args: "15000, 500", rows: 5 * 500, buffers: 6500}},
	"ComparePayments": {{args: "0, 500", rows: 4 * 500, buffers: 5000}, {args: "15000, 500", rows: 4 * 500, buffers: 5000}},
	"CompareProducts": {{args: "'', 500", rows: 500 + 3*1000, buffers: 6000}, {args: "'sku-15000', 500", rows: 500 + 3*1000, buffers: 6000}},
	"OtherEntriesOfCustomer": {
		{args: "'hot', 'infinity', 0, 500", rows: 500, buffers: 600},
		{args: "'hot', " + later + ", 0, 500", rows: 500, buffers: 600},
	},
	"EntriesOfNextCustomers": {{args: "'', 500", rows: 500, buffers: 1600}, {args: "'customer-15001', 500", rows: 500, buffers: 1600}},
	"BalancesAndNewEntries": {
		{args: "'{hot,customer-15001}', '{hot,customer-15001}', '{RUB,RUB}', '{10000000,0}'", rows: 20, buffers: 40},
		{args: "'{hot}', '{hot}', '{RUB}', '{10000000}'", rows: 4, buffers: 10},
	},
	"CompareBalances":        {{args: "'', '', 500", rows: 2 * 500, buffers: 3000}, {args: "'customer-15001', 'RUB', 500", rows: 2 * 500, buffers: 3000}},
	"CardPaymentsSince":      {{args: "'-infinity', 0, 500", rows: 500, buffers: 600}, {args: later + ", 0, 500", rows: 500, buffers: 600}},
	"CardPaymentsCounted":    {{args: "'-infinity', 0, 500", rows: 500, buffers: 600}, {args: later + ", 0, 500", rows: 500, buffers: 600}},
	"RefundedSince":          {{args: "'-infinity', 0, 500", rows: 500, buffers: 600}, {args: later + ", 0, 500", rows: 500, buffers: 600}},
	"CardPaymentsAmong":      {{args: "'{5,14999}'", rows: 7, buffers: 32}},
	"PaymentsOfIDs":          {{args: "'{5,14999}'", rows: 2, buffers: 12}},
	"PaymentsOfUUIDs":        {{args: "'{00000000-0000-4000-8000-000000000005,00000000-0000-4000-8000-000000014999}'", rows: 2, buffers: 12}},
	"DisputedCharges":        {{rows: 2 * 320, buffers: 1600}},
	"NextDispute":            {{rows: 320, buffers: 400}},
	"RefundsOfPayments":      {{args: "'{5,14999}'", rows: 5, buffers: 20}},
	"ReconciliationPass":     {{rows: 1, buffers: 5, scanned: 1}},
	"SaveReconciliationPass": {{args: "'{}', 1, 0", rows: 1, buffers: 20, scanned: 1}},
	"ReconciliationResult":   {{rows: 1, buffers: 5, scanned: 1}},

	// The queries of batches, each about several commands: present and absent rows, twice the
	// same, with and without a grant. A bound of rows is the number of look-ups, because
	// EXPLAIN rounds the average rows of a look-up up.
	"ClaimKeys": {{args: "'50ms', '{7,8,7}'"}, {args: "'', '{7}'"}},
	"AwaitKey":  {{args: "7"}},
	"FindRecords": {
		{args: "'{hot,hot,nobody}', '{key-15000,absent,key-15000}'", rows: 1, buffers: 12},
		{args: "'{hot,hot,hot}', '{key-3,key-15000,key-15000}'", rows: 3, buffers: 12},
	},
	"InsertRecords": {{args: `'{hot,hot}', '{new-1,new-2}', '{"",""}', '{creditBalance,creditBalance}', '{201,409}', '{"",""}', '{"",""}', '{"{}","{}"}', now(), ARRAY[now(), now()], '{0,6h}'`,
		buffers: 60}},

	"LockStock": {
		{args: "'{sku-5,sku-15000,sku-5,absent}', '{}', '{}', '{}', '{}', '{}', '{}'", rows: 2, buffers: 20},
		{args: "'{}', '{sku-5,sku-15000,absent}', '{hot-seller,nobody,nobody}', '{}', '{}', '{}', '{}'", rows: 4, buffers: 20},
		{args: "'{sku-7}', '{sku-5}', '{hot-seller}', '{15000,15001,15001,900001}', '{t,f,f,t}', '{\"\",customer-15001,nobody,\"\"}', '{\"\",nobody,nobody,\"\"}'",
			rows: 11, buffers: 50},
		{args: "'{}', '{}', '{}', '{15000,15001}', '{f,f}', '{nobody,nobody}', '{nobody,nobody}'", rows: 4, buffers: 20},
	},
	"ProductsBySKU":     {{args: "'{sku-5,sku-15000,sku-5,absent}'", rows: 3, buffers: 14}},
	"UpdateStockOfMany": {{args: "'{sku-5,sku-15000}', '{9,9}', '{1,1}', '{2,2}', '{1,1}', '{0,0}'", rows: 2, buffers: 30}},

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
	// Each of its indexes may have a page to split at that moment.
	"InsertOrders": {{args: "'{900001,900002}', '{hot,new}', '{hot-seller,hot-seller}', '{pending_payment,paid}', '{1.00,2.00}', '{RUB,RUB}', " +
		"ARRAY[now(), '0001-01-01 00:00:00+00'], '{1,1}', '{hot,new}', '{new,new}', ARRAY[now(), now()], ARRAY[now(), now()], '{new,\"\"}'", buffers: 170}},
	"InsertItemsOfOrders": {{args: "'{15002,15004}', '{2,2}', '{a,b}', '{1,1}', '{1,1}'", buffers: 40}},
	"UpdateOrders": {{args: "'{15000,15002}', '{cancelled,pending_payment}', ARRAY['0001-01-01 00:00:00+00', now()], '{2,2}', '{1,1}', ARRAY[now(), now()], " +
		"'{hot,\"\"}', '{key,\"\"}', '{late,\"\"}'",
		rows: 2, buffers: 100}},

	"PaymentsOfOrders": {{args: "'{15000,15002,900001}'", rows: 3, buffers: 24}},
	"DisputesOfOrders": {{args: "'{15000,15002,900001}'", rows: 3, buffers: 24}},
	"RefundsOfOrders":  {{args: "'{15000,15002,900001}'", rows: 3, buffers: 24}},
	"InsertPayments": {{args: "'{900001,900002}', '{15002,15004}', '{new,new}', '{1.00,2.00}', '{RUB,RUB}', '{balance,balance}', '{failed,failed}', " +
		"'{\"\",\"\"}', '{\"\",\"\"}', '{hot,new}', ARRAY[now(), now()]", buffers: 170}},

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

	"InsertEvents": {{args: "now(), '{00000000-0000-7000-8000-000000000000,00000000-0000-7000-8000-000000000001}', '{order.paid,order.paid}', " +
		"'{order/1,order/2}', ARRAY['{}', '{}'], ARRAY['', '']", rows: 1, buffers: 70, scanned: 1}},
	"InsertAuditEntries": {{args: "'{admin,root}', now(), '{GetOrder,GetOrder}', '{order/1,order/2}', ARRAY['{}', '{}']", buffers: 60}},

	// Written by hand.
	countJobsName:     {{args: "'{settle_payment,reconcile}', 10000", rows: 0, buffers: 30}},
	measureTablesName: {{rows: 800, buffers: 100}}, // of the catalogue
	`SELECT o.id AS "order", o.customer_id AS customer, o.seller_id AS seller, o.status,`: {
		{args: "15000, '15000', '15000', ''", rows: 4, buffers: 60}, {args: "0, 'charge-15000', 'charge-15000', ''", rows: 2, buffers: 60},
		{args: "0, 'hot', 'hot', ''", rows: 50 + 50, buffers: 400}, {args: "0, 'till', 'till', ''", rows: 3*50 + 3*50, buffers: 1200},
		{args: "0, 'hot key-15000', 'hot', 'key-15000'", rows: 2*50 + 1, buffers: 400},
	},
	`SELECT p.id AS payment, NULL AS refund, p.order_id AS "order", p.method AS by, p.status,`: {
		{args: "'{15000,15002,900001}'", rows: 9, buffers: 60}},
	`SELECT DISTINCT ON (e.created_at, e.id) e.id AS "ledger entry", e.kind, trim_scale(e.amount) || ' ' || e.currency AS amount,`: {
		{args: "'{15000,15002,900001}', ''", rows: 10, buffers: 80}, {args: "'{}', 'hot'", rows: 50, buffers: 60}},
	`SELECT u.principal || ' ' || u.key AS key, r.operation, CASE WHEN r.key IS NULL THEN 'no record' WHEN r.expires_at <= now() THEN 'expired'`: {
		{args: "'{15000,15002}', '', 'hot', 'key-15000'", rows: 20, buffers: 100}, {args: "'{}', '', 'hot', ''", rows: 2 * 51, buffers: 250}},
	`SELECT j.id AS job, j.kind, w.id AS of, j.state, j.attempt, j.scheduled_at AS next, j.errors[cardinality(j.errors)] ->> 'error' AS why`: {
		{args: "'{15000,15002}'", rows: 8, buffers: 200}},
	`SELECT e.id AS "waiting event", e.type, e.aggregate, e.created_at AS created`: {{args: "'{15000}'", rows: 60, buffers: 60}},
	`SELECT d.endpoint_id AS "webhook endpoint", d.event_type AS event, d.aggregate, d.status, d.attempts,`: {
		{args: "'{15000,15002}'", rows: 2 * 320, buffers: 1000}},
	insertJobsName: {{args: `'settle_payment', '{1}', ''`, buffers: 60}, {args: `'settle_payment', '{1,2,3,4,5}', ''`, buffers: 200}},
	"SELECT ARRAY[id::text, kind, args, CASE n WHEN 1 THEN state ELSE state || ' x' || n END, attempt::text,": {
		{rows: 0, buffers: 90}},
	"SELECT ARRAY[key, value] FROM river.river_job j, json_each_text(json_strip_nulls(to_json(j))) WHERE id = $1 AND key <> 'errors'": {
		{args: "15000", rows: 20, buffers: 300}}, // operators plan theirs anew
	"UPDATE river.river_job j SET state = 'available', scheduled_at = now(), finalized_at = NULL,":             {{args: "15000", rows: 1, buffers: 200}},
	"UPDATE river.river_job SET state = 'cancelled', finalized_at = now()":                                     {{args: "15000", rows: 1, buffers: 200}},
	"SELECT ARRAY[e.id::text, COALESCE(e.seller_id, '*'), split_part(e.url, '?', 1), 'pending ' || n.pending,": {{rows: 60_000, buffers: 90_000}}, // operators look at all
	"UPDATE webhook_delivery SET status = 'pending', attempts = 0, next_attempt_at = now(), finished_at = NULL": {
		{args: "3, '0001-01-01Z'", rows: 1, buffers: 60}, {args: "1, '0001-01-01Z'", rows: 10_000, buffers: 900}},
	"UPDATE webhook_endpoint SET disabled_at = now(), disabled_reason = 'disabled by an operator', updated_at = now()": {{args: "3", rows: 1, buffers: 60}},
	"INSERT INTO audit_log (actor, at, action, resource, metadata)":                                                    {{args: "'ann', 'RetryJob', 'job/1'", buffers: 40}},
	"SELECT version, dirty, current_setting('transaction_read_only')::boolean":                                         {{rows: 1, buffers: 3, scanned: 1}},
}

// allLocks is more than the locks that the tests of the cluster hold at any time: PostgreSQL
// has no index of them.
const allLocks = 5000

// countJobsName and measureTablesName are the first lines of the statements that count jobs
// and measure tables.
const (
	countJobsName     = "WITH states AS ("
	measureTablesName = "SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid), greatest(c.reltuples, 0)::float8"
)

// insertJobsName is the first line of the statement that inserts jobs.
const insertJobsName = "INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state, unique_key, unique_states, metadata)"

const allStatuses = "'{pending_payment,payment_processing,paid,fulfilling,shipped,delivered,cancelled}'"

// pageOfEachStatus bounds the rows that are read for a page of 21 orders: three statuses
// occur, and of the orders on the page the order and its line are read.
const pageOfEachStatus = 5 * 21

// later is the start of a page in the middle of a list.
const later = "'2026-01-01 03:00:00+00'"

// earlier is a time before that.
const earlier = "'2026-01-01 01:00:00+00'"

// largeTable is how many rows the large tables have.
const largeTable = 20_000

// tableFills add the rows from $first to $last of $large. Row i is a second younger than
// row i-1.
var tableFills = []string{
	`INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
	 SELECT 'hot', 'key-' || i, '', 'creditBalance', 201, '', '', '', now(), now() + CASE WHEN i <= 2000 THEN -1 ELSE 1 END * interval '1 hour'
	 FROM generate_series($first, $last) i`,

	`INSERT INTO product (sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT 'sku-' || i, i, 'hot-seller', 'Tea', 1, 'RUB', 10, 0, '2026-01-01 00:00Z'::timestamptz + i * interval '1 second', now()
	 FROM generate_series($first, $last) i`,

	`INSERT INTO stock_adjustment (id, sku, change, on_hand, reference, created_by, idempotency_key, created_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, 'sku-' || i, 1, 11, 'reference-' || i, 'hot-seller', 'key-' || i, now() FROM generate_series($first, $last) i`,

	// Half of the orders are of one customer, two thirds of one seller. One in twenty is not
	// paid, and its reservation has expired; half of these are of another customer. The seller creates
	// the orders of many customers, with one reference.
	`INSERT INTO orders (id, customer_id, seller_id, status, total, currency, reserved_until, version, created_by, idempotency_key,
	                     cancelled_by, created_at, updated_at, reference)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, customer,
	        CASE WHEN i % 3 = 0 THEN 'seller-' || i ELSE 'hot-seller' END,
	        status, 1, 'RUB', CASE WHEN status = 'pending_payment' THEN now() END, 1,
	        CASE WHEN customer LIKE 'customer-%' AND i % 3 > 0 THEN 'hot-seller' ELSE customer END, 'key-' || i,
	        CASE WHEN status = 'cancelled' THEN 'admin' END, '2026-01-01 00:00Z'::timestamptz + i * interval '1 second', now(),
	        CASE WHEN customer LIKE 'customer-%' THEN 'till' ELSE 'reference-' || i END
	 FROM generate_series($first, $last) i,
	      LATERAL (SELECT CASE WHEN i % 2 = 0 THEN 'hot' WHEN i % 40 = 21 THEN 'debtor' ELSE 'customer-' || i END) c (customer),
	      LATERAL (SELECT CASE WHEN i % 20 = 1 THEN 'pending_payment' WHEN i % 10 = 3 THEN 'cancelled' ELSE 'delivered' END) s (status)`,

	`INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
	 SELECT i, 1, 'sku-' || i, 1, 1 FROM generate_series($first, $last) i`,

	`INSERT INTO reservation_extension (order_id, created_by, idempotency_key, reserved_until, created_at)
	 SELECT unnest(ARRAY[i, 0]), 'hot', 'key-' || i, now(), now() FROM generate_series($first, $last) i`, // most of one order

	// One payment in twenty is processing, and its refund is pending.
	`INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at,
	                      provider, external_payment_id, card_token, uuid)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, i, 'key-' || i, 1, 'RUB', 'card', CASE WHEN i % 20 = 1 THEN 'processing' ELSE 'captured' END, 'hot', '2026-01-01 00:00Z'::timestamptz + i * interval '1 second',
	        'stripe', 'charge-' || i, 'token', ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid
	 FROM generate_series($first, $last) i`,

	// One dispute in a hundred is open.
	`INSERT INTO dispute (external_id, payment_id, order_id, amount, currency, reason, status, due_by, created_at)
	 SELECT 'dispute-' || i, i, i, 1, 'RUB', 'general', CASE WHEN i % 100 = 0 THEN 'needs_response' ELSE 'won' END,
	        now() + i * interval '1 second', '2026-01-01 00:00Z'::timestamptz + i * interval '1 second'
	 FROM generate_series($first, $last) i`,

	`INSERT INTO refund (id, payment_id, order_id, idempotency_key, amount, currency, status, full_refund, external_refund_id, created_by,
	                     created_at, uuid)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, i, i, 'key-' || i, 1, 'RUB', CASE WHEN i % 20 = 1 THEN 'pending' ELSE 'succeeded' END, true, 'refund-' || i, 'hot',
	        '2026-01-01 00:00Z'::timestamptz + i * interval '1 second',
	        ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid
	 FROM generate_series($first, $last) i`,

	`INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state, finalized_at, unique_key, unique_states)
	 SELECT 'settle_payment', jsonb_build_object('id', i), 32000, 1, 'payments', 'completed', now(), convert_to('settle_payment/' || i, 'UTF8'), B'11110001'
	 FROM generate_series($first, $last) i`,

	`INSERT INTO balance (customer_id, currency, amount)
	 SELECT CASE WHEN i = 2 THEN 'hot' ELSE 'customer-' || i END, 'RUB', 1 FROM generate_series($first, $last) i`,

	// Half of the entries are of one customer.
	`INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, payment_id, refund_id,
	                           created_by, idempotency_key, created_at, reference)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, 'credit', 'bank', 'customer', 1, 'RUB', CASE WHEN i % 2 = 0 THEN 'hot' ELSE 'customer-' || i END, 1, i, i, i,
	        CASE WHEN i % 2 = 0 THEN 'hot' ELSE 'customer-' || i END, 'key-' || i, '2026-01-01 00:00Z'::timestamptz + i * interval '1 second',
	        'reference-' || i
	 FROM generate_series($first, $last) i`,

	`INSERT INTO customer_profile (customer_id, full_name, email, phone, updated_at)
	 SELECT 'customer-' || i, '', '', '', now() FROM generate_series($first, $last) i`,

	// All events but the last 50 have been published.
	`INSERT INTO outbox (id, event_id, type, aggregate, data, created_at, published_at, dispatched_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, md5(i::text)::uuid, 'order.paid', 'order/' || i, '{"order_id": 15000}', now(), sent, sent
	 FROM generate_series($first, $last) i, LATERAL (SELECT CASE WHEN i <= $large - 50 THEN now() - interval '1 hour' END) l (sent)`,

	// Two endpoints have pending deliveries, many of them. The second one is ordered, and the
	// events of each aggregate are few.
	`INSERT INTO webhook_endpoint (id, owner, seller_id, url, event_types, description, ordered, secret, created_at, updated_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, 'owner-' || i, 'seller-' || i, 'https://example.com', '{order.*}', '', i = 2, 'whsec_1', '2026-01-01 00:00Z'::timestamptz + i * interval '1 second', now()
	 FROM generate_series($first, $last) i`,

	`INSERT INTO webhook_delivery (id, endpoint_id, event_id, event_type, aggregate, position, body, status, next_attempt_at, finished_at, event_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, endpoint, md5(i::text)::uuid, 'order.paid', 'order/' || i / 8, i, '{}', CASE WHEN i % 4 < 2 THEN 'pending' ELSE 'delivered' END,
	        CASE WHEN i % 4 < 2 THEN now() - interval '1 hour' END, CASE WHEN i % 4 >= 2 THEN now() END, now() - CASE WHEN i <= 2000 THEN 8 ELSE 1 END * interval '1 day'
	 FROM generate_series($first, $last) i, LATERAL (SELECT CASE i % 4 WHEN 3 THEN i WHEN 1 THEN 2 ELSE 1 END) e (endpoint)`,
	`SELECT setval(pg_get_serial_sequence('webhook_delivery', 'id'), 1000000)`,

	`INSERT INTO processed_message (source, message_id, processed_at)
	 SELECT 'stripe', 'message-' || i, now() - CASE WHEN i <= 2000 THEN 31 ELSE 1 END * interval '1 day'
	 FROM generate_series($first, $last) i`,

	`INSERT INTO audit_log (actor, at, action, resource)
	 SELECT 'admin', '2026-01-01 00:00Z'::timestamptz + i * interval '1 second', 'GetOrder', 'order/' || i
	 FROM generate_series($first, $last) i`,

	// Ids that are drawn come after those above.
	`SELECT setval('outbox_id_seq', $last)`,
}
