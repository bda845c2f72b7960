package auth_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
)

// loggedRequests returns requests and the members of their log lines that differ, in the
// order in which they are sent.
func loggedRequests(t testing.TB, s *e2e.Service) []struct {
	call e2e.Call
	want string
} {
	t.Helper()
	customer := s.CustomerToken(t)
	create := s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithKey("key-of-the-log-test")
	other := s.CreateOrderCall(t, e2e.Alice, "tea", 1000)
	const post = `"info","method":"POST","route":"/orders",`
	const digest, otherDigest = `"key_sha256":"3b8b5226417b"`, `"key_sha256":"dfc42b516926"` // SHA-256
	return []struct {
		call e2e.Call
		want string
	}{
		{create, post + `"status":201,"principal":"alice","order_id":1,"idempotency":"created",` + digest},
		{create, post + `"status":201,"principal":"alice","order_id":1,"idempotency":"reused",` + digest},
		{create.WithBody(other.Body), post + `"status":409,"principal":"alice","code":"idempotency_key_reused",` + digest},
		{other.WithKey("another-key"), post + `"status":409,"principal":"alice","code":"out_of_stock","idempotency":"created",` + otherDigest},
		{e2e.Get(customer, "/orders/999999"), `"info","method":"GET","route":"/orders/{order_id}","status":404,"principal":"alice","order_id":999999,"code":"not_found"`},
		{e2e.Get("", "/orders/1"), `"info","method":"GET","route":"/orders/{order_id}","status":401,"order_id":1,"code":"unauthenticated","reason":"missing"`},
		{e2e.Get("hunter2", "/orders/1"), `"info","method":"GET","route":"/orders/{order_id}","status":401,"order_id":1,"code":"unauthenticated","reason":"malformed"`},
		{e2e.Get("", "/no/such/path"), `"info","method":"GET","route":"","status":404,"code":"not_found"`},
		{e2e.Call{Method: "DELETE", Path: "/orders"}, `"info","method":"DELETE","route":"","status":405,"code":"method_not_allowed"`},
		{e2e.Get("", "/health/ready"), `"debug","method":"GET","route":"/health/ready","status":200`},
	}
}

// everyLine finds the members that every line has.
var everyLine = regexp.MustCompile(`,"(request_id|remote_addr|duration_ms|time|message)":[^,}]+`)

func TestLog_HasOneLineForEachRequest(t *testing.T) {
	t.Parallel()
	log := &testlog.Buffer{}
	newLog := func(cfg config.Config) zerolog.Logger { return app.NewLog(cfg, log) }
	s := e2e.NewEnv(t).StartReplicaWithLog(t, newLog, "ORDERS_LOG_LEVEL=debug")
	s.PutProduct(t, "tea", 10)
	for i, c := range loggedRequests(t, s) {
		id := fmt.Sprintf("request-%d", i)
		c.call.Header = http.Header{"X-Request-Id": {id}}
		s.Send(t, c.call)
		var lines []string
		e2e.Eventually(t, "the request has a line in the log", func() bool {
			lines = regexp.MustCompile(`.*"request_id":"`+id+`".*`).FindAllString(log.String(), -1)
			return len(lines) > 0
		})
		if got, want := everyLine.ReplaceAllString(lines[0], ""), `{"level":`+c.want+"}"; got != want || len(lines) > 1 {
			t.Errorf("%d lines, %s, want %s", len(lines), got, want)
		}
		if n := len(everyLine.FindAllString(lines[0], -1)); n != 5 {
			t.Errorf("a member is missing: %s", lines[0])
		}
	}
}
