package stripe

import "testing"

func TestTemplateOf_HasNoIDs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/payment_intents": "/v1/payment_intents", "/v1/payment_intents/search": "/v1/payment_intents/search",
		"/v1/payment_intents/pi_3Kx/cancel": "/v1/payment_intents/{id}/cancel", "/v1/refunds/re_1": "/v1/refunds/{id}", "/v1/secret": "/v1/{id}",
	} {
		if got := templateOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
