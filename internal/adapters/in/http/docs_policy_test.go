package httpapi

import (
	"strings"
	"testing"
)

// The page runs scripts, so the policy lets a browser load nothing but the files of this
// service, and take no file for something else.
func TestDocs_SayWhatABrowserMayLoad(t *testing.T) {
	handler := newPublicAPI(t)
	for _, path := range []string{"/docs", "/docs/nothing.js", "/openapi.yaml"} {
		header := get(t, handler, path, nil).Header()
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") && !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if got := header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", path, got)
		}
	}
}
