package main

// exposureMutants are what keeps others on the network from reading, changing or using
// what is not theirs: TLS, client certificates, CORS and the refusal of unsafe settings.
var exposureMutants = []mutant{
	{
		"unsafe settings are refused",
		"internal/config/config.go",
		`problems = append(problems, unsafe(cfg, variable(field))...)`, `_ = unsafe`,
		"./internal/config", "TestRead_RefusesUnsafeSettings",
	},
	{
		"one unsafe setting that is allowed allows no other",
		"internal/config/unsafe.go",
		`!slices.Contains(cfg.AllowInsecure, d.name)`, `len(cfg.AllowInsecure) == 0`,
		"./internal/config", "TestRead_AcceptsUnsafeSettingsThatAreAllowed",
	},
	{
		"the admin listener stays on loopback",
		"internal/config/unsafe.go",
		`return err == nil && isLoopback(host)`, `return err == nil && (host == "" || isLoopback(host))`,
		"./internal/config", "TestRead_RefusesUnsafeSettings",
	},
	{
		"a database URL may not fall back to plain text",
		"internal/config/unsafe.go",
		`attempts := append(cfg.Fallbacks, `, `attempts := append([]*pgconn.FallbackConfig(nil), `,
		"./internal/config", "TestRead_RefusesUnsafeSettings",
	},
	{
		"every host of a database URL counts",
		"internal/config/unsafe.go",
		`!isLoopback(attempt.Host)`, `!isLoopback(cfg.Host)`,
		"./internal/config", "TestRead_RefusesUnsafeSettings",
	},
	{
		"a broker elsewhere is reached by TLS",
		"internal/config/unsafe.go",
		`u.Scheme == "tls" && u.User.Username() != ""`, `u.User.Username() != ""`,
		"./internal/config", "TestRead_RefusesUnsafeSettings",
	},
	{
		"a broker elsewhere is reached with credentials",
		"internal/config/unsafe.go",
		`u.Scheme == "tls" && u.User.Username() != ""`, `u.Scheme == "tls"`,
		"./internal/config", "TestRead_RefusesUnsafeSettings",
	},
	{
		"a broker URL is one server",
		"internal/config/config.go",
		` && !strings.Contains(s, ",")`, ``,
		"./internal/config", "TestRead_RejectsInvalidValues",
	},
	{
		"migrate refuses an unencrypted database",
		"cmd/orders/migrate.go",
		`config.CheckDatabase(environ)`, `config.CheckDatabase(nil)`,
		"./cmd/orders", "TestMigrate_RefusesAnUnencryptedDatabase",
	},
}
