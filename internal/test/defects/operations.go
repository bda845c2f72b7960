package main

// operationDefects left whoever runs the service without what they need.
var operationDefects = []defect{
	{
		name:    "card-payment-not-audited",
		symptom: "A card payment by a customer who is an administrator left no audit entry.",
		found:   inReview, repair: "83fe3f0304", pkg: "internal/test/core", test: "TestAudit_SkipsOnlyReadsOfAnAdministratorsOwnResources",
		prints: "audit log: [], want 1 entries",
	},
	{
		name:    "audit-log-read-unseen",
		symptom: "Reading the audit log left no audit entry.",
		found:   inReview, repair: "833b6187ae", pkg: "internal/test/core", test: "TestListAuditLog_IsAudited",
		prints: "want the entries of the reads before",
		files:  []string{"internal/test/core/audit_test.go"},
		edits: []edit{
			{"internal/test/core/audit_test.go", "t.Context(), root, core.Page{Limit: 10}", "t.Context(), core.Page{Limit: 10}"},
			{"internal/test/memory/memory.go", "// Entries returns a page", "func (s *Store) AuditEntries() []core.AuditEntry { return s.committed.Load().audit }\n\n// Entries returns a page"},
		},
	},
	{
		name:    "panic-without-a-value",
		symptom: "The log said that something had panicked, in two lines, and not what.",
		found:   inReview, repair: "f0e793d450", pkg: "internal/adapters/in/http", test: "TestPanic_IsLoggedAndHiddenFromTheClient",
		prints: "want one line",
		files:  []string{"internal/adapters/in/http/recover_test.go"},
	},
}

// withoutRules is what the tests of settings call, and what settings had before: no rules.
var withoutRules = []edit{{"internal/config/rules.go", "", `package config

import "reflect"

var rules map[string]string

func variable(reflect.StructField) string { return "" }

func variables() []string { return nil }

func CheckNames([]string) error { return nil }
`}}
