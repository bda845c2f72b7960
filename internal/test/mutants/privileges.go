package main

// privilegeMutants are what keeps the database role of the service from doing more than the
// service does.
var privilegeMutants = []mutant{
	{
		"the service does not update the ledger",
		"migrations/grants.go",
		`{table: "ledger_entry", insert: true},`, `{table: "ledger_entry", insert: true, update: "amount, balance_after"},`,
		"./migrations", "TestServiceRole_MayNot",
	},
	{
		"the service does not delete audit entries",
		"migrations/grants.go",
		`{table: "audit_log", insert: true},`, `{table: "audit_log", insert: true, delete: true},`,
		"./migrations", "TestServiceRole_MayNot",
	},
	{
		"the service does not update the amount of a payment",
		"migrations/grants.go",
		`update: "status, external_payment_id, failure, asked_at"`, `update: "status, external_payment_id, failure, asked_at, amount"`,
		"./migrations", "TestServiceRole_MayNot",
	},
	{
		"the service does not update the total of an order",
		"migrations/grants.go",
		`update: "status, reserved_until, version,`, `update: "total, status, reserved_until, version,`,
		"./migrations", "TestServiceRole_MayNot",
	},
	{
		"what was granted by hand is revoked",
		"migrations/grants.go",
		`list = append(list, "REVOKE ALL ON "+a.table+from, "GRANT`, `list = append(list, "GRANT`,
		"./migrations", "TestGrant_RevokesWhatIsNotListed",
	},
	{
		"nobody creates objects in the schema",
		"migrations/grants.go",
		`if t.ownsSchema {`, `if false {`,
		"./migrations", "TestGrant_RevokesWhatIsNotListed",
	},
	{
		"nobody creates temporary tables",
		"migrations/grants.go",
		`"REVOKE CREATE, TEMPORARY"+database`, `"REVOKE CREATE"+database`,
		"./migrations", "TestServiceRole_MayNot",
	},
	{
		"the service does not change the version of the jobs' schema",
		"migrations/grants.go",
		`"REVOKE INSERT, UPDATE, DELETE ON "+RiverSchema+".river_migration"+from,`, ``,
		"./migrations", "TestServiceRole_MayNot",
	},
	{
		"a new table needs a decision",
		"migrations/grants.go",
		`{table: "stock_adjustment", insert: true},`, ``,
		"./migrations", "TestGrant_KnowsEveryTable",
	},
	{
		"privileges are not granted to the owner",
		"migrations/grants.go",
		`if t.roleOwns {`, `if false {`,
		"./migrations", "TestGrant_RefusesTheOwner",
	},
	{
		"privileges are not granted to everybody",
		"internal/config/rules.go",
		`[]string{"public", "none",`, `[]string{"none",`,
		"./cmd/orders", "TestMigrate_RefusesARoleThatIsEverybody",
	},
	{
		"a role that can become a superuser is noticed",
		"migrations/privileges.go",
		`WHERE r.rolsuper AND pg_has_role(r.oid, 'MEMBER') LIMIT 1`, `WHERE r.rolsuper AND r.rolname = current_user LIMIT 1`,
		"./migrations", "TestCheckPrivileges_NamesPowerfulRoles",
	},
	{
		"a role that may write files of the server is noticed",
		"migrations/privileges.go",
		`'pg_write_server_files', `, ``,
		"./migrations", "TestCheckPrivileges_NamesPowerfulRoles",
	},
	{
		"a role that owns a table is noticed",
		"migrations/privileges.go",
		`WHERE owned AND NOT sequence`, `WHERE false`,
		"./migrations", "TestCheckPrivileges_NamesWhatIsTooMuch",
	},
	{
		"a role that may create in a schema is noticed",
		"migrations/privileges.go",
		`FROM schema s WHERE has_schema_privilege(s.oid, 'CREATE')`, `FROM schema s WHERE false`,
		"./migrations", "TestCheckPrivileges_NamesWhatIsTooMuch",
	},
	{
		"a role that may create in the database is noticed",
		"migrations/privileges.go",
		`WHERE has_database_privilege(current_database(), 'CREATE')`, `WHERE false`,
		"./migrations", "TestCheckPrivileges_NamesWhatIsTooMuch",
	},
	{
		"a role that may truncate a table is noticed",
		"migrations/privileges.go",
		`'TRUNCATE', 'REFERENCES'`, `'REFERENCES'`,
		"./migrations", "TestCheckPrivileges_NamesWhatIsTooMuch",
	},
	{
		"a role that may update another column is noticed",
		"migrations/privileges.go",
		`has_column_privilege(r.oid, a.attnum, 'UPDATE')`, `has_table_privilege(r.oid, 'UPDATE')`,
		"./migrations", "TestCheckPrivileges_NamesWhatIsTooMuch",
	},
	{
		"a service without its privileges does not start",
		"migrations/privileges.go",
		`if len(p.Missing) == 0 {`, `if true {`,
		"./internal/test/e2e/process", "TestServe_RefusesARoleThatLacksPrivileges",
	},
	{
		"a service without its privileges is not ready",
		"cmd/orders/app/readiness.go",
		`if err := privileges.Err(a.granted); err != nil {`, `if err := privileges.Err(a.granted); false {`,
		"./internal/test/e2e/process", "TestService_IsNotReadyWithoutItsPrivileges",
	},
	{
		"the log warns about a role that may do too much",
		"cmd/orders/app/role.go",
		`if len(p.Excess) > 0 {`, `if false {`,
		"./internal/test/e2e/process", "TestServe_WarnsThatItsRoleMayDoTooMuch",
	},
	{
		"a metric counts what a role may do too much",
		"cmd/orders/app/metrics.go",
		`ExcessPrivileges: len(role.Excess),`, `ExcessPrivileges: 0 * len(role.Excess),`,
		"./internal/test/e2e/process", "TestServe_WarnsThatItsRoleMayDoTooMuch",
	},
	{
		"orders-dev connects the service with a role of its own",
		"cmd/orders-dev/servers.go",
		`s.postgres.URLAs(serviceRole, ordersDatabase)`, `s.postgres.URL(ordersDatabase)`,
		"./cmd/orders-dev", "TestDev_ConnectsTheServiceWithARoleOfItsOwn",
	},
	{
		"River does not rebuild indexes",
		"internal/adapters/in/jobs/jobs.go",
		`ReindexerIndexNames:         []string{},`, `ReindexerIndexNames:         nil,`,
		"./internal/adapters/in/jobs", "TestClient_RebuildsNoIndexes",
	},
}
