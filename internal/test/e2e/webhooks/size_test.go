package webhooks_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// Anybody may send to this route, so it reads a limited number of bytes before it knows
// who sent them.
func TestWebhook_HasALimitedSize(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, e2e.CardSettings(e2e.SilentProvider)...)
	s.WantProblem(t, http.StatusBadRequest, "malformed_request", e2e.WebhookCall(strings.Repeat(" ", 256<<10), "t=1,v1=00"))
	s.WantProblem(t, http.StatusRequestEntityTooLarge, "body_too_large", e2e.WebhookCall(strings.Repeat(" ", 256<<10+1), "t=1,v1=00"))
}
