package httpapi

import (
	"bytes"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/token"
	"example.com/orders/internal/core/payment"
)

func TestLog_NamesWhatTheRequestWasAbout(t *testing.T) {
	for path, want := range map[string]string{
		"/orders/17/payments": `"order_id":17`, "/refunds/4": `"refund_id":4`,
		"/customers/17/balance": "", "/orders/anna@example.com/payments": "", "/orders/999999999/payments": `"order_id":999999999`, "/orders/4242424242424242/payments": "", "/orders/9161234567/payments": "",
	} {
		var log bytes.Buffer
		a := newTestAPI(t, nil)
		a.Log = zerolog.New(&log)
		a.Tokens = new(token.Verifier) // the request has no token
		a.router(a.routes(), nil).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		named := regexp.MustCompile(`"[a-z]+_id":[0-9]+`).FindString(log.String())
		if named != want {
			t.Errorf("%s: the line names %q, want %q: %s", path, named, want, &log)
		}
	}
}

func TestLog_NamesWhatTheResultBelongsTo(t *testing.T) {
	var entry logEntry
	entry.about.add(subjects{{"order_id", 17}})
	entry.about.add(showRefund(&payment.Refund{ID: 3, PaymentID: 5, OrderID: 17}).about)
	if want := (subjects{{"order_id", 17}, {"payment_id", 5}, {"refund_id", 3}}); entry.about != want {
		t.Errorf("the subjects are %v, want %v", entry.about, want)
	}
	for location, want := range map[string]subjects{"/orders/17": {{"order_id", 17}}, "/products/17": {}, "": {}} {
		if got := subjectOfLocation(location); got != want {
			t.Errorf("%s: %v, want %v", location, got, want)
		}
	}
}
