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
		`{first}, cfg.Fallbacks)`, `{first})`,
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
		`(u.Scheme != "tls" || u.User.Username() == "")`, `u.User.Username() == ""`,
		"./internal/config", "TestRead_RefusesUnsafeSettings",
	},
	{
		"a broker elsewhere is reached with credentials",
		"internal/config/unsafe.go",
		`(u.Scheme != "tls" || u.User.Username() == "")`, `u.Scheme != "tls"`,
		"./internal/config", "TestRead_RefusesUnsafeSettings",
	},
	{
		"all servers of a broker are reached alike",
		"internal/config/rules.go",
		` && haveOneScheme(c.NATSURLs)`, ``,
		"./internal/config", "TestRead_RejectsInvalidValues",
	},
	{
		"migrate refuses an unencrypted database",
		"cmd/orders/migrate.go",
		`config.CheckDatabase(environ)`, `config.CheckDatabase(nil)`,
		"./cmd/orders", "TestMigrate_RefusesAnUnencryptedDatabase",
	},
	{
		"TLS begins at 1.2",
		"cmd/orders/app/tls.go",
		`MinVersion: tls.VersionTLS12, Certificates: `, `MinVersion: tls.VersionTLS10, Certificates: `,
		"./internal/test/e2e/transport", "TestTLS_RefusesOldVersionsAndPlainHTTP",
	},
	{
		"TLS files are read again",
		"cmd/orders/app/tls.go",
		`if time.Since(c.checked) >= reloadInterval {`, `if false {`,
		"./internal/test/e2e/transport", "TestTLS_RotatesCertificatesWithoutFailingRequests",
	},
	{
		"a broken TLS file leaves the old pair in use",
		"cmd/orders/app/tls.go",
		`		c.log.Error().Err(err).Msg("tls certificate reload failed")
		return
`, `		c.log.Error().Err(err).Msg("tls certificate reload failed")
		c.current = &tls.Config{MinVersion: tls.VersionTLS12}
		return
`,
		"./internal/test/e2e/transport", "TestTLS_KeepsThePairWhoseSuccessorIsBroken",
	},
	{
		"a broken TLS file is logged once",
		"cmd/orders/app/tls.go",
		`	c.seen = files
	fresh`, `	fresh`,
		"./cmd/orders/app", "TestCertificates_LogAChangeThatCannotBeUsedOnce",
	},
	{
		"a CA file without a certificate is refused",
		"cmd/orders/app/tls.go",
		`if !cfg.ClientCAs.AppendCertsFromPEM([]byte(f.clientCA)) {`, `if cfg.ClientCAs.AppendCertsFromPEM([]byte(f.clientCA)); false {`,
		"./internal/test/e2e/transport", "TestTLS_RefusesBrokenFilesAtTheStart",
	},
	{
		"system callers need a client certificate",
		"internal/adapters/in/http/api.go",
		`&& !a.ClientCertificate(r.TLS)`, `&& false`,
		"./internal/test/e2e/transport", "TestClientCertificate_IsRequiredOfSystemCallersOnly",
	},
	{
		"the CA for clients is passed to the API",
		"cmd/orders/app/app.go",
		`if a.certs.needsClients() {`, `if false {`,
		"./internal/test/e2e/transport", "TestClientCertificate_IsRequiredOfSystemCallersOnly",
	},
	{
		"client certificates are verified",
		"cmd/orders/app/tls.go",
		`tls.VerifyClientCertIfGiven`, `tls.RequestClientCert`,
		"./internal/test/e2e/transport", "TestClientCertificate_ThatIsInvalidIsRefused",
	},
	{
		"a client certificate ends with its CA on open connections",
		"cmd/orders/app/tls.go",
		`	_, err := chain[len(chain)-1].Verify(x509.VerifyOptions{
		Roots: roots, `, `	_, err := chain[len(chain)-1].Verify(x509.VerifyOptions{
		Roots: func() *x509.CertPool {
			pool := x509.NewCertPool()
			pool.AddCert(chain[len(chain)-1])
			return pool
		}(), `,
		"./internal/test/e2e/transport", "TestClientCertificate_EndsWithItsCA",
	},
	{
		"a client certificate ends when it expires on open connections",
		"cmd/orders/app/tls.go",
		`if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {`, `if now.Before(cert.NotBefore) {`,
		"./cmd/orders/app", "TestClientCertificate_IsCheckedForAsLongAsItsConnectionIsOpen",
	},
	{
		"HTTP/2 connections have a bounded number of streams",
		"cmd/orders/app/serve.go",
		`MaxConcurrentStreams: 100, `, ``,
		"./cmd/orders/app", "TestServer_LimitsTheStreamsOfAnHTTP2Connection",
	},
	{
		"HTTP/2 clients that do not read are ended",
		"cmd/orders/app/serve.go",
		`, WriteByteTimeout: 30 * time.Second`, ``,
		"./cmd/orders/app", "TestServer_EndsHTTP2ClientsThatDoNotRead",
	},
	{
		"no origin is allowed by default",
		"internal/adapters/in/http/cors.go",
		`if len(origins) == 0 {`, `if origins == nil && false {`,
		"./internal/test/e2e/transport", "TestCORS_IsOffByDefaultAndForWebhooks",
	},
	{
		"webhooks are not for pages",
		"internal/adapters/in/http/cors.go",
		`if strings.HasPrefix(r.URL.Path, webhooks) {`, `if false {`,
		"./internal/test/e2e/transport", "TestCORS_IsOffByDefaultAndForWebhooks",
	},
	{
		"only listed origins are allowed",
		"internal/adapters/in/http/cors.go",
		`AllowedOrigins: origins,`, `AllowedOrigins: []string{"*"},`,
		"./internal/test/e2e/transport", "TestCORS_EveryAnswerIsForAllowedOriginsOnly",
	},
	{
		"pages may send Idempotency-Key",
		"internal/adapters/in/http/cors.go",
		`"Content-Type", "Idempotency-Key", "If-Match"`, `"Content-Type", "If-Match"`,
		"./internal/test/e2e/transport", "TestCORS_PreflightAllowsTheMethodsAndHeadersOfTheContract",
	},
	{
		"pages send no cookies",
		"internal/adapters/in/http/cors.go",
		`AllowCredentials: false`, `AllowCredentials: true`,
		"./internal/test/e2e/transport", "TestCORS_EveryAnswerIsForAllowedOriginsOnly",
	},
	{
		"failures are readable for pages",
		"internal/adapters/in/http/router.go",
		`allowOrigins(a.CORSOrigins, routes), a.recoverPanic`, `a.recoverPanic`,
		"./internal/adapters/in/http", "TestCORS_FailuresAreReadable",
	},
	{
		"wildcards are no origins",
		"internal/config/rules.go",
		`[a-z0-9.-]+|`, `[a-z0-9.*-]+|`,
		"./internal/config", "TestRead_RejectsInvalidValues",
	},
	{
		"origins are encrypted",
		"internal/config/rules.go",
		`!originPattern.MatchString(s) || !isSafeURL(s) ||`, `!originPattern.MatchString(s) ||`,
		"./internal/config", "TestRead_RejectsInvalidValues",
	},
}
