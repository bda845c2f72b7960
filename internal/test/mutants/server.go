package main

const (
	wiring  = "./cmd/orders/app"
	process = "./internal/test/e2e/process"
)

// serverMutants are the limits of the server, what it serves where, and when it is ready.
var serverMutants = []mutant{
	{
		"a header arrives in time",
		"cmd/orders/app/serve.go",
		`ReadHeaderTimeout: 5 * time.Second,`, ``,
		wiring, "TestServer_EndsSlowRequests",
	},
	{
		"a request arrives in time",
		"cmd/orders/app/serve.go",
		`ReadTimeout:       15 * time.Second,`, ``,
		wiring, "TestServer_EndsSlowRequests",
	},
	{
		"a response is read in time",
		"cmd/orders/app/serve.go",
		`WriteTimeout:      60 * time.Second,`, ``,
		wiring, "TestServer_EndsSlowRequests",
	},
	{
		"an idle connection ends",
		"cmd/orders/app/serve.go",
		`IdleTimeout:       2 * time.Minute,`, ``,
		wiring, "TestServer_EndsSlowRequests",
	},
	{
		"a header has at most 32 KiB",
		"cmd/orders/app/serve.go",
		`MaxHeaderBytes:    32 << 10,`, ``,
		wiring, "TestServer_RefusesALargeHeader",
	},
	{
		"profiles are not public",
		"internal/adapters/in/http/router.go",
		`r.NotFound(a.notFound)`, `r.NotFound(a.notFound); r.Mount("/debug", http.DefaultServeMux)`,
		authPkg, "TestBadInput_UnknownPathsAreRefused",
	},
	{
		"metrics are not public",
		"internal/adapters/in/http/router.go",
		`r.NotFound(a.notFound)`, `r.NotFound(a.notFound); r.Get("/metrics", func(http.ResponseWriter, *http.Request) {})`,
		authPkg, "TestBadInput_UnknownPathsAreRefused",
	},
	{
		"the admin listener is on loopback by default",
		"internal/config/config.go",
		`envDefault:"127.0.0.1:9090"`, `envDefault:":9090"`,
		"./internal/config", "TestRead_FillsInDefaults",
	},
	{
		"the documentation loads nothing from elsewhere",
		"internal/adapters/in/http/docs.go",
		`h.Set("Content-Security-Policy", a.docs.policy)`, ``,
		httpAPI, "TestDocs_SayWhatABrowserMayLoad",
	},
	{
		"an old schema is refused",
		"cmd/orders/app/readiness.go",
		`case state.SchemaVersion < newest:`, `case false:`,
		process, "TestServe_RefusesOutdatedSchema",
	},
	{
		"a process is not ready on an old schema",
		"cmd/orders/app/readiness.go",
		"if err := checkSchema(state); err != nil {\n\t\treturn err\n\t}\n\tprivileges", "privileges",
		process, "TestReadiness_DependsOnSchema",
	},
	{
		"a process is not ready on a standby",
		"cmd/orders/app/readiness.go",
		`case state.ReadOnly:`, `case false:`,
		process, "TestService_OnStandbyIsUnavailableAndNotReady",
	},
	{
		"a process that shuts down is not ready",
		"cmd/orders/app/readiness.go",
		`if a.draining.Load() {`, `if false {`,
		wiring, "TestReady_ReportsDrainingAtOnce",
	},
	{
		"readiness costs one check a second",
		"cmd/orders/app/readiness.go",
		`if r.now().Before(r.until) {`, `if false {`,
		wiring, "TestReadiness_IsCheckedOnceASecondWhateverTheLoad",
	},
	{
		"readiness does not depend on who asks",
		"cmd/orders/app/readiness.go",
		`context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)`, `context.WithTimeout(ctx, readyTimeout)`,
		wiring, "TestReadiness_DoesNotDependOnWhoAsks",
	},
	{
		"reads have connections of their own",
		"internal/adapters/out/postgres/db.go",
		`return int64(max(1, conns-max(2, conns/4)))`, `return int64(conns)`,
		store, "TestReads_DoNotWaitForWriters",
	},
	{
		"a scrape shares one visit to the database",
		"internal/telemetry/database.go",
		`if time.Since(c.visited) < visitInterval {`, `if false {`,
		"./internal/telemetry", "TestHandler_SharesOneVisitToTheDatabase",
	},
}
