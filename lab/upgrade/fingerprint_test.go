package upgrade_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	httpapi "example.com/orders/internal/adapters/in/http"
)

// Replicas of both versions share the records during an upgrade and after a rollback, so
// this version stores fingerprints that the version before can compare.
func TestFingerprint_IsOneThatTheVersionBeforeKnows(t *testing.T) {
	t.Parallel()
	first, _, rows := readRelease(t)
	stored := httpapi.ContentOf(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", http.NoBody), "/orders", nil).Fingerprint()[0]
	if !slices.Contains(first.Knows, int(stored)) {
		t.Errorf("records are stored with version %d, and %s knows %v", stored, first.Version, first.Knows)
	}
	var written int
	for _, r := range rows {
		var record struct{ Fingerprint string }
		if err := json.Unmarshal(r.Values, &record); err != nil {
			t.Fatal(err)
		}
		if r.Table != "idempotency_record" {
			continue
		}
		written++
		version, err := strconv.ParseInt(strings.TrimPrefix(record.Fingerprint, `\x`)[:2], 16, 0)
		if err != nil || !slices.Contains(knownFingerprints(), int(version)) {
			t.Errorf("%s stored version %s, which this version does not know", first.Version, record.Fingerprint)
		}
	}
	if written == 0 {
		t.Error("the release has left no records")
	}
}
