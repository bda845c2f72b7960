package httpapi

import "testing"

func TestLiveness_ReportsTheVersion(t *testing.T) {
	const want = `{"status":"live","version":"1.2.3"}`
	if got := get(t, newPublicAPI(t), "/health/live", nil).Body.String(); got != want {
		t.Errorf("body = %s\nwant   %s", got, want)
	}
}
