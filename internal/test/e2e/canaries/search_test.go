package canaries_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// belongs says where each field may be found: in a response to the caller, an event, or a
// column. Card numbers belong nowhere, but the issuer's ids may look like some.
var belongs = map[string][]string{
	// What the profile is for. DeleteCustomerProfile removes it.
	"full_name": {"customer_profile.full_name"},
	"email":     {"customer_profile.email"},
	"phone":     {"customer_profile.phone"},

	// The key is in the record, and beside the effect as the second line of defence.
	"Idempotency-Key": {
		"idempotency_record.key", "orders.idempotency_key", "orders.cancel_key", "reservation_extension.idempotency_key",
		"payment.idempotency_key", "refund.idempotency_key", "ledger_entry.idempotency_key", "stock_adjustment.idempotency_key",
	},

	// The provider needs the token of the card, until the payment is decided and for a
	// retry.
	"payment_method": {"payment.card_token"},

	// Texts that the caller wrote, and the stored response that repeats them.
	"reference":    {"orders.reference", "ledger_entry.reference", "idempotency_record.body"},
	"reason":       {"orders.cancel_reason", "refund.reason", "stock_adjustment.reason", "idempotency_record.body"},
	"description":  {"ledger_entry.description", "idempotency_record.body"},
	"name":         {"product.name"},
	"X-Request-Id": {"idempotency_record.body"},

	// IDs. Plain ones are in the instance of a problem, a SKU in "there is no product" and in
	// Location. A subject is whatever the issuer says.
	"sku": {
		"problem", "header", "event", "product.sku", "order_item.sku", "stock_adjustment.sku", "outbox.data", "outbox.aggregate",
		"audit_log.resource", "audit_log.metadata", "idempotency_record.body", "idempotency_record.location",
	},
	"customer_id": {
		"problem", "event", "customer_profile.customer_id", "orders.customer_id", "balance.customer_id", "ledger_entry.customer_id",
		"ledger_entry.credit", "ledger_entry.debit", "outbox.data", "outbox.aggregate", "audit_log.resource", "audit_log.metadata",
		"idempotency_record.body",
	},
	"sub": {
		"event", "customer_profile.customer_id", "orders.customer_id", "orders.created_by", "outbox.data", "outbox.aggregate",
		"audit_log.resource", "audit_log.metadata", "idempotency_record.body", "idempotency_record.scope",
	},

	// The name of an unknown member is in a pointer, unless it looks like an e-mail address
	// or is long.
	"a name of a member": {"problem"},
}

// notIDs are what no id of a path in a problem looks like.
var notIDs = []string{"telephone number", "full name"}

func isAllowed(place string, c canary) bool {
	field := strings.TrimPrefix(c.field, "query ")
	if strings.HasPrefix(c.sort, cardNumber) && (place == "problem" || field != "customer_id" && field != "sub") {
		return false
	}
	if place == "problem" && (c.sort == "e-mail" || c.field != "a name of a member" && slices.Contains(notIDs, c.sort)) {
		return false
	}
	return slices.Contains(belongs[field], strings.TrimPrefix(place, "public."))
}

// searcher reports canaries where they do not belong.
type searcher struct {
	*nest
	places int
	bytes  int
	known  int
}

// wantClean searches a place.
func (s *searcher) wantClean(t *testing.T, place, text string) {
	t.Helper()
	s.places++
	s.bytes += len(text)
	reported := map[string]bool{}
	for _, f := range s.search(text) {
		if isAllowed(place, f.canary) {
			s.known++
			continue
		}
		if what := f.sort + f.field; !reported[what] {
			reported[what] = true
			t.Errorf("%s: %s of %q is found: …%s…", place, f.sort, f.field, f.around)
		}
	}
}

// searchDatabase searches every column of every table.
func (s *searcher) searchDatabase(t *testing.T, env *e2e.Env) {
	t.Helper()
	columns, err := e2e.Columns(t.Context(), env.DB)
	if err != nil || len(columns) < 50 {
		t.Fatalf("read the columns: %d, %v", len(columns), err)
	}
	for name, contents := range columns {
		s.wantClean(t, name, contents)
	}
}

// searchAdmin searches what operators can read.
func (s *searcher) searchAdmin(t *testing.T, addr string) {
	t.Helper()
	for _, path := range []string{
		"/metrics", "/debug/pprof/", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/allocs?debug=1",
		"/debug/pprof/cmdline", "/debug/pprof/mutex?debug=1", "/debug/pprof/block?debug=1", "/debug/vars",
	} {
		_, body := e2e.Fetch(t, "http://"+addr+path)
		s.wantClean(t, "admin "+path, body)
	}
}

// withoutMember removes a member from lines of JSON. It is the caller's own id of a request,
// which is repeated if it is plain and no card number.
func withoutMember(lines, name string) string {
	return regexp.MustCompile(`"`+name+`":"([^"]*)"`).ReplaceAllStringFunc(lines, func(member string) string {
		if plainCard.MatchString(member) {
			return member
		}
		return ""
	})
}

var plainCard = regexp.MustCompile(`4111[.-]?990`)
