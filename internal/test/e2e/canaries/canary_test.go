package canaries_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// What every canary of a sort contains, so that one search finds them all.
const (
	textMark  = "Zq9canary"
	phoneMark = "79165557"
	cardMark  = "4111990"
)

// sorts are what is planted. Each makes a value that contains a mark and a number.
var sorts = map[string]func(n int) string{
	"bearer token":         text("tok_%s"),
	"idempotency key":      text("key-%s"),
	"e-mail":               text("anna.%s@example.com"),
	"full name":            text("Anna %s Karenina"),
	"database password":    text("pw_%s"),
	"provider key":         text("sk_test_%s"),
	"webhook secret":       text("whsec_%s"),
	"broker password":      text("nats_%s"),
	"card token":           text("pm_%s"),
	"telephone number":     func(n int) string { return fmt.Sprintf("+%s%05d", phoneMark, n) },
	cardNumber:             func(n int) string { return withCheckDigit(fmt.Sprintf("%s%08d", cardMark, n)) },
	"card number in parts": func(n int) string { return inParts(withCheckDigit(fmt.Sprintf("%s%08d", cardMark, n))) },
}

const cardNumber = "card number"

func text(format string) func(int) string {
	return func(n int) string { return fmt.Sprintf(format, fmt.Sprintf("%s%05d", textMark, n)) }
}

func inParts(digits string) string {
	return digits[:4] + "." + digits[4:8] + "." + digits[8:12] + "." + digits[12:]
}

// withCheckDigit appends the check digit of a card number (ISO/IEC 7812).
func withCheckDigit(digits string) string {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return digits + strconv.Itoa((10-sum%10)%10)
}

// canary is a value that was planted, and where: the name of a member, a parameter or a
// header.
type canary struct{ sort, field, value string }

// nest makes canaries and knows them by their numbers.
type nest struct{ all []canary }

// plant returns a value that has not been planted yet.
func (n *nest) plant(sort, field string) string {
	c := canary{sort, field, sorts[sort](len(n.all))}
	n.all = append(n.all, c)
	return c.value
}

func (n *nest) get(number int) canary {
	if number < 0 || number >= len(n.all) {
		return canary{sort: "a canary of no known number"}
	}
	return n.all[number]
}

var (
	// plain finds canaries as they were planted. A card number may have been joined.
	plain = regexp.MustCompile(`(?i)` + textMark + `(\d{5})|` + phoneMark + `(\d{5})|4111[. -]?990(\d[. -]?\d{4}[. -]?\d{3})\d`)
	// encoded finds marks that somebody has encoded.
	encoded = regexp.MustCompile(strings.Join(encodings(), "|"))
)

// encodings returns patterns of the marks in hexadecimal, in base64 and percent-encoded.
func encodings() []string {
	var patterns []string
	for _, mark := range []string{textMark, phoneMark, cardMark} {
		digits := hex.EncodeToString([]byte(mark))
		patterns = append(patterns, `(?i:`+digits+`)`, `(?i:`+regexp.MustCompile("..").ReplaceAllString(digits, "%$0")+`)`)
		for before := range 3 { // base64 has three forms of a text within another
			for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				form := alphabet.EncodeToString([]byte(strings.Repeat("x", before) + mark))
				whole := (before + len(mark)) / 3 * 4
				patterns = append(patterns, regexp.QuoteMeta(form[(before*8+5)/6:whole]))
			}
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// found is a canary in a text, and the text around it.
type found struct {
	canary
	around string
}

// search returns the canaries in a text, in whatever form.
func (n *nest) search(text string) []found {
	var all []found
	for _, at := range plain.FindAllStringSubmatchIndex(text, -1) {
		number := -1
		for group := 2; group < len(at); group += 2 {
			if at[group] >= 0 {
				digits := regexp.MustCompile(`\D`).ReplaceAllString(text[at[group]:at[group+1]], "")
				number, _ = strconv.Atoi(digits) // the pattern has digits only
			}
		}
		all = append(all, found{n.get(number), around(text, at[0])})
	}
	for _, at := range encoded.FindAllStringIndex(text, -1) {
		all = append(all, found{canary{sort: "encoded canary"}, around(text, at[0])})
	}
	return all
}

func around(text string, at int) string { return text[max(0, at-80):min(len(text), at+80)] }

func TestSearch_FindsEveryForm(t *testing.T) {
	t.Parallel()
	var n nest
	for sort := range sorts {
		value := n.plant(sort, "here")
		if got := n.search("before " + value + " after"); len(got) != 1 || got[0].value != value {
			t.Errorf("%s %s: found %v", sort, value, got)
		}
		if sort == "card number in parts" {
			continue // its mark is not in one piece
		}
		for before := range 4 {
			inside := strings.Repeat("-", before) + value + "--"
			for name, form := range map[string]string{
				"hexadecimal": hex.EncodeToString([]byte(inside)), "base64": base64.StdEncoding.EncodeToString([]byte(inside)),
				"URL-safe base64": base64.RawURLEncoding.EncodeToString([]byte(inside)),
			} {
				if got := n.search(form); len(got) == 0 {
					t.Errorf("%s as %s is not found: %s", value, name, form)
				}
			}
		}
	}
	if got := n.search(strings.Repeat("nothing is here 4242424242424242 +79161234567 ", 100)); len(got) > 0 {
		t.Errorf("found %v in a text without canaries", got)
	}
}

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
	"reference":    {"orders.reference", "ledger_entry.reference", "refund.reference", "stock_adjustment.reference", "idempotency_record.body"},
	"reason":       {"orders.cancel_reason", "refund.reason", "stock_adjustment.reason", "idempotency_record.body"},
	"description":  {"ledger_entry.description", "webhook_endpoint.description", "idempotency_record.body"},
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

// searched are the fields in which a card number is refused or replaced. Others are numbers by
// nature.
var searched = []string{"description", "reason", "name", "full_name", "payment_method", "X-Request-Id"}

func isAllowed(place string, c canary) bool {
	field := strings.TrimPrefix(c.field, "query ")
	if strings.HasPrefix(c.sort, cardNumber) && (place == "problem" && field != "sku" || slices.Contains(searched, field)) {
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
	columns, err := pgtest.Columns(t.Context(), env.DB)
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
