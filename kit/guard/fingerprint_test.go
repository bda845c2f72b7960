package guard

import (
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

// content returns the content of a request; target is a path with a query.
func content(t *testing.T, method, target, body string) Content {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatal(err)
	}
	return NewContent(method, u, []byte(body)).InVersion1("/orders/{order_id}/cancel")
}

// in returns c's fingerprint in a version.
func (c Content) in(version byte) Fingerprint {
	return Fingerprint([]byte{version}) + fingerprintVersions[version](c)
}

func TestFingerprint_IsTheSameForTheSameRequest(t *testing.T) {
	t.Parallel()
	base := content(t, "POST", "/orders/1/cancel?a=1&b=2", `{"reason":"x"}`).Fingerprint()
	if len(base) != 33 || base[0] != 1 {
		t.Errorf("fingerprint %x, want the version and 32 bytes", base)
	}
	target := &url.URL{Path: "/orders/1/cancel"}
	if stored := NewContent("POST", target, nil).Fingerprint(); len(stored) != 33 || stored[0] != currentVersion {
		t.Errorf("fingerprint %x, want the current version and 32 bytes", stored)
	}
	for name, same := range map[string]Content{
		"the same request":                content(t, "POST", "/orders/1/cancel?a=1&b=2", `{"reason":"x"}`),
		"query parameters in other order": content(t, "POST", "/orders/1/cancel?b=2&a=1", `{"reason":"x"}`),
	} {
		if same.Fingerprint() != base {
			t.Errorf("%s: another fingerprint", name)
		}
	}
}

// Records of earlier releases hold such fingerprints. The hash is that of the parts, each
// after its length in eight bytes. In version 2, the part for the path is made likewise of
// its segments.
func TestFingerprint_IsThatOfEarlierReleases(t *testing.T) {
	t.Parallel()
	request := content(t, "POST", "/orders/1/cancel?a=1&b=2", `{"reason":"x"}`)
	request.Headers = []string{"If-Match: 1"}
	for version, want := range map[byte]string{
		1: "01d9638c5caecbf114f7956335c1c052b0aa08ef29eded85644e7a914bcb90b45e",
		2: "027a9cd0a7ab009d29e87166be751b92c0f524923ee40e7717bfa9a10bd8d41209",
	} {
		if got := hex.EncodeToString([]byte(request.in(version))); got != want {
			t.Errorf("version %d: got %s, want %s", version, got, want)
		}
	}
}

func TestFingerprint_DiffersForAnotherRequest(t *testing.T) {
	t.Parallel()
	base := content(t, "POST", "/orders/1/cancel?a=1&b=2", `{"reason":"x"}`)
	withHeader := base
	withHeader.Headers = []string{"If-Match: 1"}
	for name, other := range map[string]Content{
		"the method":                  content(t, "PUT", "/orders/1/cancel?a=1&b=2", `{"reason":"x"}`),
		"the path":                    content(t, "POST", "/orders/2/cancel?a=1&b=2", `{"reason":"x"}`),
		"an escape in the path":       content(t, "POST", "/orders/1%2Fcancel?a=1&b=2", `{"reason":"x"}`),
		"a value in the query":        content(t, "POST", "/orders/1/cancel?a=1&b=3", `{"reason":"x"}`),
		"a name in the query":         content(t, "POST", "/orders/1/cancel?a=1&c=2", `{"reason":"x"}`),
		"no query":                    content(t, "POST", "/orders/1/cancel", `{"reason":"x"}`),
		"a second value":              content(t, "POST", "/orders/1/cancel?a=1&b=2&b=1", `{"reason":"x"}`),
		"the body":                    content(t, "POST", "/orders/1/cancel?a=1&b=2", `{"reason":"y"}`),
		"no body":                     content(t, "POST", "/orders/1/cancel?a=1&b=2", ``),
		"a border between parts":      content(t, "POST", "/orders/1/cance", `la=1&b=2{"reason":"x"}`),
		"another border":              content(t, "POST", "/orders/1/cancel?a=1", `&b=2{"reason":"x"}`),
		"a query that cannot be read": content(t, "POST", "/orders/1/cancel?a=1&b=2;x", `{"reason":"x"}`),
		"the query inside the path":   content(t, "POST", "/orders/1/cancel%3Fa=1&b=2", `{"reason":"x"}`),
		"a header that counts":        withHeader,
	} {
		for version := range fingerprintVersions {
			if same, err := other.Matches(base.in(version)); same || err != nil {
				t.Errorf("version %d: %s does not count, %v", version, name, err)
			}
		}
	}
}

func TestMatches_ComparesInTheStoredVersion(t *testing.T) {
	const older byte = 200 // hashes without the query, as an older release might have done
	fingerprintVersions[older] = func(c Content) Fingerprint { c.Query = ""; return hashParts(c, c.path) }
	t.Cleanup(func() { delete(fingerprintVersions, older) })
	request := content(t, "POST", "/orders?a=1", `{}`)
	stored := Fingerprint([]byte{older}) + fingerprintVersions[older](request)

	for name, test := range map[string]struct {
		sent Content
		want bool
	}{
		"an honest retry after the upgrade": {request, true},
		"another body":                      {content(t, "POST", "/orders?a=1", `{"b":1}`), false},
		"what the older version ignored":    {content(t, "POST", "/orders?a=2", `{}`), true},
	} {
		if same, err := test.sent.Matches(stored); same != test.want || err != nil {
			t.Errorf("%s: %v, %v; want %v", name, same, err, test.want)
		}
	}
	if request.Fingerprint() == stored {
		t.Error("a new record is stored in the older version")
	}
}

func TestMatches_RefusesFingerprintsItCannotCompare(t *testing.T) {
	t.Parallel()
	request := content(t, "POST", "/orders", `{}`)
	for name, stored := range map[string]Fingerprint{
		"empty":              "",
		"an unknown version": Fingerprint("\xff" + strings.Repeat("x", 32)),
	} {
		if same, err := request.Matches(stored); same || err == nil {
			t.Errorf("%s: %v, %v; want an error", name, same, err)
		}
	}
}
