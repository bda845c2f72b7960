package main

// privacyMutants keep secrets and personal data where they belong (AUTH-16 and 18).
var privacyMutants = []mutant{
	{
		"the log has no plain key",
		"internal/adapters/in/http/log.go",
		`event.Str("key_sha256", shortHash(e.key))`, `event.Str("key_sha256", shortHash(e.key)).Str("key", e.key)`,
		authPkg, "TestLog_ContainsNoSecrets",
	},
	{
		"the log has no path and no query",
		"internal/adapters/in/http/log.go",
		`l.write(entry, r.Method, ww`, `entry.pattern += r.URL.String(); l.write(entry, r.Method, ww`,
		authPkg, "TestLog_ContainsNoSecrets",
	},
	{
		"the log has no token",
		"internal/adapters/in/http/log.go",
		`l.write(entry, r.Method, ww`, `entry.code += r.Header.Get("Authorization"); l.write(entry, r.Method, ww`,
		authPkg, "TestLog_ContainsNoSecrets",
	},
	{
		"the log takes plain request ids only",
		"internal/adapters/in/http/log.go",
		`; plainRequestID.MatchString(id) && `, `; id != "" && `,
		authPkg, "TestRequestID_IsTakenFromCallerWhenItIsPlain",
	},
	{
		"an unexpected error has a fixed text",
		"internal/adapters/in/http/problem.go",
		"\t}\n\treturn internalProblem()\n}\n\nfunc", "\t}\n\tif err != nil {\n\t\treturn newProblem(wire.ProblemCodeInternal, err.Error())\n\t}\n\treturn internalProblem()\n}\n\nfunc",
		httpAPI, "TestProblemOf_TranslatesEveryError",
	},
	{
		"a known error has a fixed text",
		"internal/adapters/in/http/problem.go",
		`return newProblem(known.code, known.detail)`, `return newProblem(known.code, err.Error())`,
		httpAPI, "TestProblemOf_TranslatesEveryError",
	},
	{
		"a code that is not in the contract stays inside",
		"internal/adapters/in/http/problem.go",
		`if _, ok := problemKinds[code]; !ok {`, `if false {`,
		httpAPI, "TestProblemOf_TranslatesEveryError",
	},
	{
		"every code has the title and the status of the contract",
		"internal/adapters/in/http/problem.go",
		`{http.StatusForbidden, "Access denied", 0, sameKey}`, `{http.StatusNotFound, "Access denied", 0, sameKey}`,
		httpAPI, "TestProblemKinds_AgreeWithTheContract",
	},
	{
		"a refusal repeats no value of the body",
		"internal/adapters/in/http/json.go",
		`return malformed("the body must be one JSON value in UTF-8")`, `return malformed(err.Error())`,
		httpAPI, "TestCheck_NeverEchoesValues",
	},
	{
		"a server error carries no values of rows",
		"internal/adapters/out/postgres/errors.go",
		`return &serverError{state: pg.Code, constraint: pg.ConstraintName, fatal`, `return &serverError{state: pg.Code + pg.Message + pg.Detail, constraint: pg.ConstraintName, fatal`,
		store, "TestServerErrors_CarryNoValuesOfRows",
	},
	{
		"an invalid database URL is not repeated",
		"internal/adapters/out/postgres/db.go",
		`return nil, errors.New("the database URL cannot be read")`, `return nil, err`,
		store, "TestOpen_DoesNotReportThePassword",
	},
	{
		"an invalid setting is not repeated",
		"internal/config/config.go",
		`fmt.Errorf("%s must %s", variable(field), rule.must)`, `fmt.Errorf("%s must %s, not %v", variable(field), rule.must, reflect.ValueOf(cfg).FieldByIndex(field.Index))`,
		"./internal/config", "TestRead_DoesNotRepeatSecrets",
	},
	{
		"an invalid broker URL is not repeated",
		"internal/adapters/out/nats/connect.go",
		`return nil, errors.New("invalid broker URL")`, `return nil, err`,
		"./internal/adapters/out/nats", "TestConnect_KeepsCredentialsOutOfErrorsAndLogs",
	},
	{
		"a response of the provider is not quoted",
		"internal/adapters/out/stripe/errors.go",
		`return fmt.Errorf("stripe: %s: unreadable response", action)`, `return fmt.Errorf("stripe: %s: %w", action, err)`,
		"./internal/adapters/out/stripe", "TestCharge_ReturnsAnErrorWhileTheOutcomeIsUnknown",
	},
	{
		"a reason of the provider is a short code",
		"internal/core/payment/difference.go",
		`if r.Reason == "" || shortCode.MatchString(r.Reason) {`, `if true {`,
		"./internal/test/e2e/webhooks", "TestWebhook_WithALongReasonFailsThePayment",
	},
	{
		"the value of a panic stays inside",
		"internal/panics/panics.go",
		`return fmt.Sprintf("a value of type %T", v)`, `return fmt.Sprintf("a value of type %T: %v", v, v)`,
		"./internal/panics", "TestRecovered_DescribesThePanicWithoutData",
	},
	{
		"the panic of a job stays out of its row",
		"internal/adapters/in/jobs/jobs.go",
		`river.WorkerMiddlewareFunc(recoverPanic),`, ``,
		"./internal/adapters/in/jobs", "TestRunner_KeepsTheDataOfAPanicOutOfLogAndTable",
	},
	{
		"an event carries no text",
		"internal/core/payment/event.go",
		`"refund_id":  r.ID,`, `"refund_id":  r.ID, "reason": r.Reason,`,
		useCase, "TestEvents_CarryNoPersonalData",
	},
	{
		"the audit log carries no text",
		"internal/core/payment/refund.go",
		`return o.Owners().Metadata().WithID("payment_id", r.PaymentID)`, `return o.Owners().Metadata().With("reason", r.Reason).WithID("payment_id", r.PaymentID)`,
		useCase, "TestAudit_CarriesNoText",
	},
	{
		"the audit log names changed members only",
		"internal/core/customer/profile.go",
		`names = append(names, member.name)`, `names = append(names, member.name, member.is)`,
		useCase, "TestAudit_CarriesNoText",
	},
}
