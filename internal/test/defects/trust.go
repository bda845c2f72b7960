package main

// trustDefects trusted, allowed or revealed too much.
var trustDefects = []defect{
	{
		name:    "provider-key-behind-a-redirect",
		symptom: "A redirect by the provider took our secret key to another port, and the response there was believed.",
		found:   byAttack, repair: "a3c68bd485", pkg: "internal/adapters/out/stripe", test: "TestGateway_FollowsNoRedirect",
		prints: "want an error",
	},
	{
		name:    "address-in-errors",
		symptom: "Errors of the provider repeated the address of the call and what was echoed of its key, and got into job rows and the log.",
		found:   byAttack, repair: "a3c68bd485", pkg: "internal/adapters/out/stripe", test: "TestGateway_ErrorsHaveNeitherAddressNorKey",
		prints: "stripe: charge: status 403, Bearer",
	},
	{
		name:    "unsafe-settings",
		symptom: "An admin listener on all addresses, a database or a broker without TLS were accepted in silence.",
		found:   byAttack, repair: "2c5b627e35", pkg: "internal/config", test: "TestRead_RefusesUnsafeSettings",
		prints: "want one problem",
		files:  []string{"internal/config/unsafe_test.go"},
		edits:  []edit{{"internal/config/check.go", "", "package config\n\nfunc CheckDatabase([]string) error { return nil }\n"}},
	},
	{
		name:    "scripts-of-others",
		symptom: "The reference page would have run a script that somebody injects.",
		found:   inReview, repair: "a20fc18d64", pkg: "internal/adapters/in/http", test: "TestDocs_RunOnlyTheirOwnScripts",
		prints: "the policy does not name a script of the page",
	},
	{
		name:    "card-number-in-a-key",
		symptom: "A card number was accepted in dots, slashes, other groups or other digits.",
		found:   byAttack, repair: "a4e7021189", pkg: "internal/adapters/in/http", test: "TestHasCardNumber_FindsNumbersAsPeopleWriteThem",
		prints: "not found",
		files:  []string{"internal/adapters/in/http/cardnumber_test.go"},
		edits:  fewCardNumbers,
	},
	{
		name:    "profile-in-the-statistics",
		symptom: "PostgreSQL's statistics kept names and addresses of deleted profiles.",
		found:   byTest, repair: "dfa754f687", pkg: "migrations", test: "TestUp_ForgetsTheStatisticsOfProfiles",
		prints: "columns have statistics after the migration",
		files:  []string{"migrations/migrations_test.go"},
	},
	{
		name:    "personal-data-in-the-log",
		symptom: "The log repeated methods, subjects and request ids with personal data.",
		found:   byAttack, repair: "e4c10b9342", pkg: "internal/adapters/in/http", test: "TestLog_RepeatsNoRequestIDWithACardNumber",
		prints: "4242424242424242: the request ID is 4242424242424242",
		files:  []string{"internal/adapters/in/http/log_test.go"},
		edits:  []edit{{"internal/adapters/in/http/principal.go", "", "package httpapi\n\nfunc loggedPrincipal(subject string) string { return subject }\n"}},
	},
	{
		name:    "keys-behind-a-redirect",
		symptom: "Whoever stood behind a redirect of the issuer could sign tokens of administrators.",
		found:   byAttack, repair: "865db3fcae", pkg: "internal/test/e2e/auth", test: "TestKeys_AreNotFetchedFromWhereTheIssuerRedirects",
		prints: `GET /admin/audit-log: 200 "", want 401`,
		files:  []string{"internal/test/e2e/auth/keyfaults_test.go", "internal/test/e2e/auth/keys_test.go"},
	},
	{
		name:    "keys-wiped-by-an-empty-set",
		symptom: "An empty answer of the issuer wiped good keys.",
		found:   byAttack, repair: "865db3fcae", pkg: "internal/test/e2e/auth", test: "TestKeys_SurviveOutageOfIssuer/no_keys",
		prints: "a known key: status 503",
		files:  []string{"internal/test/e2e/auth/keyfaults_test.go", "internal/test/e2e/auth/keys_test.go"},
	},
	{
		name:    "keys-for-another-purpose",
		symptom: "Tokens were accepted whose key was a short RSA key, was published with its private half, or was not published to verify.",
		found:   byAttack, repair: "865db3fcae", pkg: "internal/test/e2e/auth", test: "TestKeys_VerifyOnlyWhatTheyArePublishedFor",
		prints: "FAIL: TestKeys_VerifyOnlyWhatTheyArePublishedFor/RSA_of_1024_bits",
		files:  []string{"internal/test/e2e/auth/keyfaults_test.go", "internal/test/e2e/auth/keys_test.go"},
	},
	{
		name:    "password-in-an-error",
		symptom: "A mistyped database URL printed its password.",
		found:   byAttack, repair: "291954bd4b", pkg: "cmd/orders", test: "TestRun_PrintsNoPassword",
		prints: "prints open the database for migration: failed to connect",
	},
	{
		name:    "keys-spoiled-by-one",
		symptom: "One malformed key of the issuer spoiled all others.",
		found:   byAttack, repair: "865db3fcae", pkg: "internal/test/e2e/auth", test: "TestKeys_AreUsedBesideUnusableOnesAndWithAnyMediaType",
		prints: `status 503: {"code":"unavailable"`,
		files:  []string{"internal/test/e2e/auth/keyfaults_test.go", "internal/test/e2e/auth/keys_test.go"},
		edits: []edit{ // leave one malformed key beside a good one
			{"internal/test/e2e/auth/keyfaults_test.go", `jwkset.JWKMarshal{KTY: "LWE", KID: "of the future"}, `, ""},
			{"internal/test/e2e/auth/keyfaults_test.go", `"text/html"`, `"application/json"`},
		},
	},
}

// fewCardNumbers lets the test of card numbers compile: other tests in its file call what
// came with the repair.
var fewCardNumbers = []edit{{"internal/adapters/in/http/others.go", "", `package httpapi

import "net/url"

const cardNumberDetail = ""

func cardNumberIn(_, text string) bool { return hasCardNumber(text) }

func digitValue(rune) rune { return -1 }

func checkQuery(url.Values) error { return nil }
`}}
