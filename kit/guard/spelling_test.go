package guard

import (
	"net/url"
	"testing"
)

// credit returns the content of a credit to a customer, as the path spells the customer.
func credit(t *testing.T, customer string) Content {
	t.Helper()
	u, err := url.ParseRequestURI("/customers/" + customer + "/balance/credit")
	if err != nil {
		t.Fatal(err)
	}
	return NewContent("POST", u, []byte(`{}`)).InVersion1("/customers/{customer_id}/balance/credit")
}

// The spelling of a path does not count, whichever version the record was stored with.
func TestMatches_EverySpellingOfThePath(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"auth0|17", "auth0%7C17"}, {"auth0%7C17", "auth0%7c17"}, {"ann@example.com", "ann%40example.com"},
		{"ann@example.com", "ann%40example%2Ecom"}, {"ann%40example.com", "ann%40example%2ecom"},
		{"system:serviceaccount:17", "system%3Aserviceaccount%3A17"}, {"sber-17", "sber%2D17"}, {"sber-17", "sber%2d17"},
		{"team%2F17", "team%2f17"}, {"a+17", "a%2B17"}, {"a~17_b", "a%7E17%5Fb"}, {"1041", "%31041"}, {"ann", "%61nn"},
		{"o'brien", "o%27brien"}, {"(a)*!", "%28a%29%2A%21"}, {"a=b&c;d,e$", "a%3Db%26c%3Bd%2Ce%24"}, {"a[0]", "a%5B0%5D"}, {"100%25", "1%300%25"}, {"user-11-of-a-long-list@example.com", "user%2D11%2Dof%2Da%2Dlong%2Dlist%40example.com"},
	} {
		for version := range fingerprintVersions {
			for _, way := range [][2]string{pair, {pair[1], pair[0]}} {
				stored := credit(t, way[0]).in(version)
				if same, err := credit(t, way[1]).Matches(stored); !same || err != nil {
					t.Errorf("version %d: %s was stored, and %s does not match: %v", version, way[0], way[1], err)
				}
			}
		}
	}
}

// Version 1 cannot be compared with every spelling of a long path.
func TestMatches_AnySpellingInVersion2(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"team%2Fa|b", "team%2Fa%7cb"}, {"a-long-name-of-a-team", "a-long%2Dname-%6ff-a-team"}} {
		if same, err := credit(t, pair[1]).Matches(credit(t, pair[0]).in(2)); !same || err != nil {
			t.Errorf("%s was stored, and %s does not match: %v", pair[0], pair[1], err)
		}
	}
}

// http.ServeMux also finds a route by escaped letters.
func TestMatches_EverySpellingOfTheRoute(t *testing.T) {
	t.Parallel()
	sent := content(t, "POST", "/%6Frders/1%2D2/canc%65l", `{}`)
	for version := range fingerprintVersions {
		if same, err := content(t, "POST", "/orders/1-2/cancel", `{}`).Matches(sent.in(version)); !same || err != nil {
			t.Errorf("version %d: the path without escapes does not match: %v", version, err)
		}
	}
}

// A byte that is encoded in another way is another byte.
func TestMatches_NoOtherPath(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"a+b", "a%20b"}, {"a%2Fb", "a/b"}, {"a%252Fb", "a%2Fb"}, {"ann", "Ann"}, {"ann@x", "ann@X"}, {"a%2540b", "a%40b"},
		{"02", "2"}, {"a", "a%00"}, {"%7Bcustomer_id%7D", "ann"}, {"a%2Fbalance", "a"},
	} {
		for version := range fingerprintVersions {
			for _, way := range [][2]string{pair, {pair[1], pair[0]}} {
				if same, err := credit(t, way[1]).Matches(credit(t, way[0]).in(version)); same || err != nil {
					t.Errorf("version %d: %s was stored, and %s matches: %v", version, way[0], way[1], err)
				}
			}
		}
	}
}

// Until every replica knows version 2, records are stored in version 1, for the path as it
// was sent: a replica of the last release answers a retry that is spelled alike.
func TestFingerprint_IsStoredForTheSpellingThatWasSent(t *testing.T) {
	t.Parallel()
	sent := credit(t, "ann%40x")
	if got := sent.Fingerprint(); got != "\x01"+hashParts(sent, "/customers/ann%40x/balance/credit") {
		t.Errorf("got %x, want the hash of the path as it was sent", got)
	}
}
