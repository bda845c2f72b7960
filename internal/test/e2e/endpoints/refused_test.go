package endpoints_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

func TestEndpoint_MustBeAPublicURLAndForEventsThatExist(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	shop := seller{s, s.SellerToken(t)}
	made := shop.create(t, hookURL)
	for _, url := range []string{
		"", "hooks", "http://hooks.example", "https://", "https://ann:secret@hooks.example", "https://hooks.example/#part",
		"https://127.0.0.1", "https://[::1]/", "https://10.0.0.1", "https://169.254.169.254/latest/meta-data", "https://[fd00:ec2::254]",
		"file:///etc/passwd",
	} {
		for _, call := range []e2e.Call{
			shop.call("POST", "", fmt.Sprintf(`{"url": %q, "event_types": ["*"]}`, url)), shop.call("PATCH", made.path(""), fmt.Sprintf(`{"url": %q}`, url)),
		} {
			if r := s.Send(t, call); r.Verdict() != "422 validation_failed" || !slices.Equal(r.Pointers(), []string{"#/url"}) {
				t.Errorf("%s %q: %s", call.Method, url, r.Body)
			}
		}
	}
	for types, pointer := range map[string]string{
		`[]`: "#/event_types", `["order"]`: "#/event_types/0", `["*", "order.lost"]`: "#/event_types/1", `["o*"]`: "#/event_types/0",
	} {
		r := s.Send(t, shop.call("PATCH", made.path(""), `{"event_types": `+types+`}`))
		if r.Verdict() != "422 validation_failed" || !slices.Equal(r.Pointers(), []string{pointer}) {
			t.Errorf("%s: %s", types, r.Body)
		}
	}
}

// verdicts sends requests to create endpoints together, and counts the verdicts.
func (s seller) verdicts(t testing.TB, urls ...string) map[string]int {
	t.Helper()
	calls := make([]e2e.Call, len(urls))
	for i, url := range urls {
		calls[i] = s.call("POST", "", fmt.Sprintf(`{"url": %q, "event_types": ["*"]}`, url))
	}
	counts := map[string]int{}
	for _, r := range s.SendAllTogether(t, calls) {
		counts[r.Verdict()]++
	}
	return counts
}

// Requests that come together are refused as those that come one after the other.
func TestEndpoints_OfAnOwnerAreFewAndHaveDifferentURLs(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	shop, rival := seller{s, s.SellerToken(t)}, seller{s, s.Token(t, e2e.Rival, "seller")}
	var others []string
	for i := range 15 {
		others = append(others, fmt.Sprintf("%s/%d", hookURL, i))
	}
	for what, c := range map[string]struct{ got, want map[string]int }{
		"of the same URL":   {shop.verdicts(t, slices.Repeat([]string{hookURL}, 8)...), map[string]int{"201": 1, "409 webhook_endpoint_exists": 7}},
		"of different URLs": {shop.verdicts(t, others...), map[string]int{"201": 9, "422 validation_failed": 6}},
		"of another seller": {rival.verdicts(t, hookURL), map[string]int{"201": 1}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("requests %s (-want +got):\n%s", what, diff)
		}
	}
}

// A change to the URL of another endpoint is refused, also if both come together.
func TestEndpoints_ChangedTogetherKeepDifferentURLs(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	shop := seller{s, s.SellerToken(t)}
	first, second := shop.create(t, hookURL+"/1"), shop.create(t, hookURL+"/2")
	body := `{"url": "` + hookURL + `"}`
	verdicts := []string{}
	for _, r := range s.SendAllTogether(t, []e2e.Call{shop.call("PATCH", first.path(""), body), shop.call("PATCH", second.path(""), body)}) {
		verdicts = append(verdicts, r.Verdict())
	}
	slices.Sort(verdicts)
	if want := []string{"200", "409 webhook_endpoint_exists"}; !slices.Equal(verdicts, want) {
		t.Errorf("verdicts %q, want %q", verdicts, want)
	}
}

// An owner's endpoints are counted after the requests before have ended, on every replica.
func TestEndpoint_IsCreatedAfterThoseThatAreBeingCreated(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	shop := seller{s, s.SellerToken(t)}
	before := s.LockRows(t, "SELECT pg_advisory_xact_lock(hashtext('webhook_endpoint'), hashtext($1))", e2e.Shop)
	verdict := make(chan string, 1)
	go func() {
		verdict <- s.Send(t, shop.call("POST", "", `{"url": "`+hookURL+`", "event_types": ["*"]}`)).Verdict()
	}()
	e2e.Eventually(t, "the request waits", func() bool { return s.Blocked(t) > 0 || len(verdict) > 0 })
	s.Exec(t, `INSERT INTO webhook_endpoint (owner, seller_id, url, event_types, description, ordered, secret, created_at, updated_at)
		VALUES ($1, $1, $2, '{*}', '', false, '', now(), now())`, e2e.Shop, hookURL)
	before.Release()
	if got := e2e.Receive(t, verdict, "the request is answered"); got != "409 webhook_endpoint_exists" {
		t.Errorf("the request: %s, want 409 webhook_endpoint_exists", got)
	}
}
