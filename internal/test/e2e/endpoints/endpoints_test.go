// Package endpoints_test tests the API of webhook endpoints. What they receive is tested
// where deliveries are sent.
package endpoints_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// endpoint is a webhook endpoint as the API shows it.
type endpoint struct {
	ID             int      `json:"id"`
	URL            string   `json:"url"`
	EventTypes     []string `json:"event_types"`
	Description    *string  `json:"description"`
	Ordered        bool     `json:"ordered"`
	SellerID       *string  `json:"seller_id"`
	Disabled       bool     `json:"disabled"`
	DisabledReason *string  `json:"disabled_reason"`
	FailingSince   *string  `json:"failing_since"`
	CreatedAt      string   `json:"created_at"`
	Secret         string   `json:"secret"`
}

type delivery struct {
	ID            int     `json:"id"`
	EventID       string  `json:"event_id"`
	EventType     string  `json:"event_type"`
	Status        string  `json:"status"`
	Attempts      int     `json:"attempts"`
	NextAttemptAt *string `json:"next_attempt_at"`
	FinishedAt    *string `json:"finished_at"`
}

type page[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"`
}

// seller is somebody with webhook endpoints.
type seller struct {
	*e2e.Service
	token string
}

func (s seller) call(method, path, body string) e2e.Call {
	return e2e.Call{Method: method, Path: "/webhook-endpoints" + path, Token: s.token, Body: body}
}

func (s seller) create(t testing.TB, url string) endpoint {
	t.Helper()
	return e2e.Want[endpoint](t, s.Service, http.StatusCreated, s.call("POST", "", fmt.Sprintf(`{"url": %q, "event_types": ["*"]}`, url)))
}

// queue queues a test event.
func (s seller) queue(t testing.TB, e endpoint) delivery {
	t.Helper()
	return e2e.Want[delivery](t, s.Service, http.StatusCreated, s.call("POST", e.path("/test"), ""))
}

func (e endpoint) path(below string) string { return fmt.Sprintf("/%d%s", e.ID, below) }

const hookURL = "https://hooks.example/orders"

func TestEndpoint_IsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	shop := seller{s, s.SellerToken(t)}
	body := `{"url": "` + hookURL + `", "event_types": ["order.*", "refund.failed"], "description": "the shop", "ordered": true}`
	created := s.Send(t, shop.call("POST", "", body))
	made := e2e.Want[page[endpoint]](t, s, http.StatusOK, shop.call("GET", "", "")).Data[0]
	if want := fmt.Sprintf("/webhook-endpoints/%d", made.ID); created.Status != http.StatusCreated || created.Header.Get("Location") != want {
		t.Errorf("created: %d, Location %q, want 201 and %q", created.Status, created.Header.Get("Location"), want)
	}
	want := endpoint{
		ID: made.ID, URL: hookURL, EventTypes: []string{"order.*", "refund.failed"}, Description: new("the shop"), Ordered: true,
		SellerID: new(e2e.Shop), CreatedAt: made.CreatedAt,
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}

	change := shop.call("PATCH", made.path(""), `{"url": "https://hooks.example/2", "event_types": ["*"], "description": "", "ordered": false, "disabled": true}`)
	want.URL, want.EventTypes, want.Description, want.Ordered = "https://hooks.example/2", []string{"*"}, nil, false
	want.Disabled, want.DisabledReason = true, new("disabled by request")
	for range 2 { // a repetition changes nothing
		if diff := cmp.Diff(want, e2e.Want[endpoint](t, s, http.StatusOK, change)); diff != "" {
			t.Errorf("after the change (-want +got):\n%s", diff)
		}
	}
	enabled := e2e.Want[endpoint](t, s, http.StatusOK, shop.call("PATCH", made.path(""), `{"disabled": false}`))
	if enabled.Disabled || enabled.DisabledReason != nil || enabled.URL != want.URL {
		t.Errorf("after it was enabled: %+v", enabled)
	}

	shop.queue(t, made)
	s.MustSend(t, shop.call("DELETE", made.path(""), ""))
	for _, call := range []e2e.Call{
		shop.call("DELETE", made.path(""), ""), shop.call("GET", made.path(""), ""), shop.call("GET", made.path("/deliveries"), ""),
	} {
		s.WantProblem(t, http.StatusNotFound, "not_found", call)
	}
	if n := s.Count(t, "SELECT count(*) FROM webhook_delivery"); n != 0 {
		t.Errorf("%d deliveries remain", n)
	}
}

func TestEndpoints_AreListedInPagesAndForTheirSellerOnly(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	shop, rival, root := seller{s, s.SellerToken(t)}, seller{s, s.Token(t, e2e.Rival, "seller")}, seller{s, s.AdminToken(t)}
	first, second := shop.create(t, hookURL), shop.create(t, hookURL+"/2")
	theirs, forAll := rival.create(t, hookURL), root.create(t, hookURL)
	for who, c := range map[string]struct {
		of   seller
		want []int
	}{
		"the shop": {shop, []int{second.ID, first.ID}}, "a rival": {rival, []int{theirs.ID}},
		"an administrator": {root, []int{forAll.ID, theirs.ID, second.ID, first.ID}},
	} {
		var got []int
		for cursor := ""; ; {
			p := e2e.Want[page[endpoint]](t, s, http.StatusOK, c.of.call("GET", "?limit=1"+cursor, ""))
			for _, e := range p.Data {
				got = append(got, e.ID)
			}
			if p.NextCursor == nil {
				break
			}
			cursor = "&cursor=" + *p.NextCursor
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s sees %v, want %v", who, got, c.want)
		}
	}
	if forAll.SellerID != nil {
		t.Errorf("an administrator's endpoint is for %s, want all sellers", *forAll.SellerID)
	}
	s.WantProblem(t, http.StatusForbidden, "forbidden_resource", seller{s, s.Token(t, e2e.Root, "seller")}.call("GET", forAll.path(""), ""))
}

func TestSecret_IsShownOnceAndNeverReadBack(t *testing.T) {
	t.Parallel()
	var log testlog.Buffer
	s := e2e.NewEnv(t).StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.New(&log).Level(zerolog.TraceLevel) })
	shop := seller{s, s.AdminToken(t)} // whose actions are audited
	made := shop.create(t, hookURL)
	rotated := e2e.Want[endpoint](t, s, http.StatusOK, shop.call("POST", made.path("/rotate-secret"), ""))
	if !strings.HasPrefix(made.Secret, "whsec_") || !strings.HasPrefix(rotated.Secret, "whsec_") || made.Secret == rotated.Secret {
		t.Fatalf("the secrets are %q and %q", made.Secret, rotated.Secret)
	}
	queued := shop.queue(t, made)
	for _, call := range []e2e.Call{
		shop.call("GET", made.path(""), ""), shop.call("GET", "", ""), shop.call("PATCH", made.path(""), `{"ordered": true}`),
		shop.call("GET", made.path("/deliveries"), ""), shop.call("POST", made.path(fmt.Sprintf("/deliveries/%d/retry", queued.ID)), ""),
		shop.call("POST", "", `{"url": "`+hookURL+`", "event_types": ["*"]}`), e2e.Get(shop.token, "/admin/audit-log"),
	} {
		if r := s.Send(t, call); strings.Contains(string(r.Body), "whsec_") || strings.Contains(string(r.Body), `"secret"`) {
			t.Errorf("%s %s shows a secret: %s", call.Method, call.Path, r.Body)
		}
	}
	stored := s.Count(t, `SELECT count(*) FROM webhook_endpoint WHERE secret = $1 AND previous_secret = $2
		AND previous_until BETWEEN now() + interval '23 hours' AND now() + interval '24 hours'`, rotated.Secret, made.Secret)
	elsewhere := s.Count(t, `SELECT (SELECT count(*) FROM outbox o WHERE strpos(o::text, 'whsec_') > 0)
		+ (SELECT count(*) FROM audit_log a WHERE strpos(a::text, 'whsec_') > 0) + (SELECT count(*) FROM webhook_delivery d WHERE strpos(d::text, 'whsec_') > 0)`)
	if strings.Contains(log.String(), "whsec_") || !strings.Contains(log.String(), "rotate-secret") {
		t.Errorf("the log has a secret, or not the rotation: %s", log.String())
	}
	if stored != 1 || elsewhere != 0 {
		t.Errorf("%d endpoints have both secrets for a day, want 1; %d rows elsewhere have one", stored, elsewhere)
	}
}

func TestDeliveries_AreListedByStatusAndRetried(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	shop := seller{s, s.SellerToken(t)}
	e, other := shop.create(t, hookURL), shop.create(t, hookURL+"/2")
	first, second := shop.queue(t, e), shop.queue(t, e)
	shop.queue(t, other)
	s.Exec(t, `UPDATE webhook_delivery SET status = 'failed', attempts = 10, next_attempt_at = NULL, finished_at = now(),
		response_status = 500, response_start = 'no', error = 'status' WHERE id = $1`, first.ID)
	for query, want := range map[string][]int{
		"": {second.ID, first.ID}, "?status=failed": {first.ID}, "?status=pending": {second.ID}, "?status=delivered": {},
	} {
		got := []int{}
		for _, d := range e2e.Want[page[delivery]](t, s, http.StatusOK, shop.call("GET", e.path("/deliveries"+query), "")).Data {
			got = append(got, d.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}
	retry := fmt.Sprintf("/deliveries/%d/retry", first.ID)
	s.WantProblem(t, http.StatusNotFound, "not_found", shop.call("POST", other.path(retry), ""))
	again := e2e.Want[delivery](t, s, http.StatusOK, shop.call("POST", e.path(retry), ""))
	if again.EventID != first.EventID || again.Status != "pending" || again.Attempts != 0 || again.NextAttemptAt == nil || again.FinishedAt != nil {
		t.Errorf("after the retry: %+v, want event %s due now", again, first.EventID)
	}
	body := s.Count(t, `SELECT count(*) FROM webhook_delivery WHERE id = $1 AND body::jsonb @> jsonb_build_object('specversion', '1.0',
		'id', event_id, 'type', 'webhook_endpoint.test', 'subject', aggregate)`, first.ID)
	if body != 1 {
		t.Error("the body of a test event is no CloudEvent about the endpoint")
	}
}
