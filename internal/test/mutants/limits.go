package main

const (
	limitsFile = "internal/adapters/in/http/limits.go"
	shareFile  = "internal/adapters/in/http/share.go"
	httpPkg    = "./internal/adapters/in/http"
	limitsPkg  = "./internal/test/e2e/limits"
)

// limitsMutants are what keeps one principal from taking the service away from others.
var limitsMutants = []mutant{
	{
		"requests are limited",
		limitsFile, `a.buckets.requests, requestLimit, "requests"`, `perMinute(0), requestLimit, "requests"`,
		httpPkg, "TestRequestLimit_RefusesUntilRetryAfterIsOver",
	},
	{
		"the limits come before the key",
		"internal/adapters/in/http/api.go",
		`	return a.admit(rt, w, req)`, `	if _, err := parseKey(w, r); rt.guarded && err != nil {
		return nil, err
	}
	return a.admit(rt, w, req)`,
		limitsPkg, "TestRequestLimit_ComesAfterTokenAndRole",
	},
	{
		"a new key is counted",
		"internal/adapters/in/http/guard.go",
		`sync.OnceValue(req.admission.takeKey)`, `func() error { _ = sync.OnceValue[error]; return nil }`,
		httpPkg, "TestKeyLimit_RefusesUntilRetryAfterIsOver",
	},
	{
		"a command that runs twice has one key",
		"internal/adapters/in/http/guard.go",
		`sync.OnceValue(req.admission.takeKey)`, `func() error { _ = sync.OnceValue[error]; return req.admission.takeKey() }`,
		httpPkg, "TestKeyLimit_RefusesUntilRetryAfterIsOver",
	},
	{
		"replays count as no new key",
		"internal/adapters/in/http/guard.go",
		`	entry.key = req.key
`, `	entry.key = req.key
	if err := req.admission.takeKey(); err != nil {
		return nil, err
	}
`,
		httpPkg, "TestKeyLimit_RefusesUntilRetryAfterIsOver",
	},
	{
		"requests in flight are limited",
		limitsFile, `p.inFlight >= l.cfg.InFlight`, `p.inFlight > l.cfg.InFlight`,
		httpPkg, "TestInFlight_RefusesTheRequestBeyond",
	},
	{
		"a panic ends the request in flight",
		"internal/adapters/in/http/api.go",
		`	defer req.admission.end() // also when the use case panics
	return a.answer(rt, w, req)`, `	resp, err := a.answer(rt, w, req)
	req.admission.end()
	return resp, err`,
		httpPkg, "TestInFlight_EndsWithTheRequest",
	},
	{
		"a principal without requests leaves nothing behind",
		limitsFile, `delete(l.present, a.scope)`, `_ = a.scope`,
		httpPkg, "TestLimits_BoundTheirMemory",
	},
	{
		"the counted principals are bounded",
		limitsFile, `MaximumSize:      maxBuckets,`, `MaximumSize:      2 * maxBuckets,`,
		httpPkg, "TestLimits_BoundTheirMemory",
	},
	{
		"each principal has limits of its own",
		limitsFile, `a.buckets = l.bucketsOf(scope)`, `a.buckets = l.bucketsOf("")`,
		limitsPkg, "TestKeyLimit_CountsNewKeysOnly",
	},
	{
		"only unlimited roles have no limits",
		limitsFile, `if !actor.Has(l.cfg.UnlimitedRoles...) {`, `if !actor.Has(core.System, core.Seller) {`,
		limitsPkg, "TestLimits_LeaveUnlimitedRolesAlone",
	},
	{
		"a request is admitted after Retry-After",
		limitsFile, `(wait+time.Second-1)/time.Second`, `wait/time.Second`,
		httpPkg, "TestLimits_RetryAfterIsRight",
	},
	{
		"guarded commands of one principal leave connections to others",
		"internal/adapters/out/postgres/keys.go", `shares{size: int64(db.share)}`, `shares{size: 1000}`,
		limitsPkg, "TestCommands_OfOnePrincipalLeaveConnectionsToOthers",
	},
	{
		"other commands of one principal leave connections to others",
		"internal/adapters/in/http/api.go",
		`	if err := share.wait(ctx); err != nil {
		return nil, err
	}
	defer share.Release(1)
`, `	_ = share
`,
		limitsPkg, "TestCommands_OfOnePrincipalLeaveConnectionsToOthers",
	},
	{
		"duplicates need no share",
		"internal/adapters/out/postgres/share.go", `	p, ok := k.placeSoon(ctx, a.claim.Scope)
`, `	p, err := k.place(ctx, a.claim.Scope)
	if err != nil {
		return idempotency.Record{}, false, err
	}
	ok := true
`,
		store, "TestKeys_DuplicatesNeedNoPlace",
	},
	{
		"reads do not wait behind commands",
		shareFile, `return share{a.principal.reads}`, `return share{a.principal.commands}`,
		limitsPkg, "TestReads_OfOnePrincipalLeaveConnectionsToOthers",
	},
	{
		"one principal leaves places to others",
		"internal/adapters/out/postgres/db.go",
		`int(max(1, writers-max(1, writers/4)))`, `int(writers)`,
		limitsPkg, "TestCommands_OfOnePrincipalLeaveConnectionsToOthers",
	},
	{
		"connections are limited",
		"cmd/orders/app/serve.go",
		`netutil.LimitListener(ln, connections)`, `netutil.LimitListener(ln, connections+1)`,
		limitsPkg, "TestConnections_BeyondTheLimitWait",
	},
	{
		"health is served beside the limit of connections",
		"cmd/orders/app/admin.go",
		`	mux.Handle("/health/", httpapi.ForOperators(a.handler))
`, ``,
		limitsPkg, "TestConnections_BeyondTheLimitWait",
	},
}
