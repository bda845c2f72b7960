package docs

import (
	"maps"
	"strings"
	"testing"
)

// The checks are checked: each of these documents names one thing that does not exist.
var broken = map[string]struct{ check, text, want string }{
	"link":                 {"links", "[guide](auth-20.md)", "links to auth-20.md,"},
	"link out of docs":     {"links", "[code](../internal/gone.go)", "links to ../internal/gone.go,"},
	"link in a table":      {"links", "| a | [b](gone.md) |", "links to gone.md,"},
	"link from the root":   {"links", "[code](/README.md)", "links to /README.md,"},
	"image":                {"links", "![chart](benchmark.png)", "links to benchmark.png,"},
	"image in HTML":        {"links", `<img src="benchmark.png">`, "links to benchmark.png,"},
	"anchor":               {"links", "[table](operate.md#the-data-base)", "there is no such heading"},
	"anchor in the page":   {"links", "# Two words\n[here](#two_words)", "there is no such heading"},
	"anchor of a repeated": {"links", "# A\n# A\n[second](#a-2)", "there is no such heading"},
	"anchor in code":       {"links", "```\n# A\n```\n[here](#a)", "there is no such heading"},
	"line of a file":       {"links", "[line](../Makefile#L10)", "there is no such heading"},
	"link by name":         {"links", "[the guide][guide]", "no link is called guide"},
	"link by name to gone": {"links", "[the guide][guide]\n\n[guide]: gone.md", "links to gone.md,"},
	"path":                 {"paths", "`internal/core/gone.go`", "names internal/core/gone.go,"},
	"path below internal":  {"paths", "`core/gone.go`", "names core/gone.go,"},
	"path of a folder":     {"paths", "`internal/cores`", "names internal/cores,"},
	"path with a wildcard": {"paths", "`migrations/*.down.txt`", "names migrations/*.down.txt,"},
	"file name":            {"paths", "`polices.go`", "names polices.go,"},
	"excerpt":              {"excerpts", "```go internal/core/codes.go\npackage cores\n```", "internal/core/codes.go has no such lines"},
	"excerpt of no file":   {"excerpts", "```go internal/core/gone.go\npackage core\n```", "internal/core/gone.go has no such lines"},
	"name of a package":    {"names", "`core.AuditReads`", "core.AuditReads is not declared"},
	"member of a type":     {"names", "`Guard.Does(ctx)`", "Guard.Does is not declared"},
	"member of a member":   {"names", "`tx.Outbox.Insert`", "tx.Outbox.Insert is not declared"},
	"word":                 {"names", "`joinTransaction`", "joinTransaction does not occur"},
	"operation":            {"names", "`createOrders`", "createOrders does not occur"},
	"column":               {"names", "`idempotency_records`", "idempotency_records does not occur"},
	"metric":               {"names", "`orders_outbox_length`", "orders_outbox_length does not occur"},
	"test":                 {"tests", "`TestGuard_ReplaysTheFirstResponse`", "is no test"},
	"beginning of a test":  {"tests", "`TestGuard_`", "TestGuard_ is no test"},
	"subtest of no test":   {"tests", "`TestStores/idempotency`", "TestStores is no test"},
	"target":               {"make", "`make tests`", "make tests is no target"},
	"target of the lab":    {"make", "`make faults`", "make faults is no target"},
	"target in a block":    {"make", "Run:\n\n    make runs  # this", "make runs is no target"},
	"target with a value":  {"make", "```\n$ make SEED=1 fuzzing\n```", "make fuzzing is no target"},
	"setting":              {"settings", "Set ORDERS_DATABASE.", "ORDERS_DATABASE is no setting"},
	"setting in a block":   {"settings", "```\n" + "ORDERS_CORS=none orders serve\n```", "ORDERS_CORS is no setting"},
	"route":                {"routes", "`POST /order`", "POST /order is not in the contract"},
	"method":               {"routes", "`PATCH /orders/{order_id}`", "PATCH /orders/{order_id} is not in the contract"},
	"command of curl":      {"routes", "    curl -X POST $ORDERS/orders/7/pay -d '{}'", "POST /orders/7/pay is not"},
	"command in two lines": {"routes", "```\ncurl -X PUT \\\n  $ORDERS/product/tea\n```", "PUT /product/tea is not"},
	"path of the API":      {"routes", "`/documentation`", "/documentation is not in the contract"},
	"code":                 {"codes", "the answer is 409 `out_of_stocks`", "409 has no code out_of_stocks"},
	"status of a code":     {"codes", "the answer is 422\n`out_of_stock`", "422 has no code out_of_stock"},
}

func TestChecks_FindWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	r := mustReadRepository(t)
	unused := maps.Clone(checks)
	for name, c := range broken {
		delete(unused, c.check)
		findings := checks[c.check](r, Page{Path: "docs/made-up.md", Text: c.text})
		if len(findings) != 1 || !strings.Contains(findings[0], c.want) {
			t.Errorf("%s: %q: found %q, want %q", name, c.text, findings, c.want)
		}
	}
	for name := range unused {
		t.Errorf("no broken document is for the check of %s", name)
	}
}

// fine names everything in ways that exist.
const fine = `# Pay & *play*: ` + "`order_id`" + ` [twice](operate.md)!
[top](#pay--play-order_id-twice) [again](#a-1) [other](operate.md#the-database) [site](https://example.com/a#b)
[guide][g] <img src="play-light.webp"> <!-- [gone](gone.md) -->

[g]: guide.md#the-answers

# A
# A
` + "`internal/core/` `core/order/store.go` `policy.go` `internal/core/*/policy.go` `NNNN_name.up.sql` `application/json`" + `
` + "`core.Fault` `Guard.Do(ctx, r, run)` `tx.SaveOrder` `order.reserved` `http.Server` `idempotency_record`" + `
` + "`TestStore/idempotency` `make check` `make -C lab CONTRACTTIME=1m contract` `make FUZZTIME=1m fuzz` `ORDERS_ADDR` `ORDERS_JWT_`" + `
` + "`POST /orders/{order_id}/cancel` `GET /orders?limit=2` `/docs` `/metrics` 409 `out_of_stock`" + `

` + "```go internal/core/codes.go\n\tpackage core\n```\n```go main.go\npackage main\n```" + `

    [gone](gone.md) # no link
    curl -i -X POST "$ORDERS/orders/1/payment/confirm" -d '{}'
`

func TestChecks_AcceptWhatExists(t *testing.T) {
	t.Parallel()
	for name, check := range checks {
		for _, finding := range check(mustReadRepository(t), Page{Path: "docs/made-up.md", Text: fine}) {
			t.Errorf("%s: %s", name, finding)
		}
	}
}
