package version_test

import (
	"runtime"
	"strings"
	"testing"

	"example.com/orders/internal/observe/version"
)

// A build without a repository, as that of a test, still says what it is.
func TestGet_IdentifiesTheBuild(t *testing.T) {
	t.Parallel()
	got := version.Get()
	if got.Number != version.Number || got.Revision == "" || got.Go != runtime.Version() {
		t.Errorf("the build is %+v", got)
	}
	if text := got.String(); !strings.HasPrefix(text, version.Number+" (") || !strings.Contains(text, got.Go) {
		t.Errorf("as text it is %q", text)
	}
}
