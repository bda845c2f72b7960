//go:build node

// Package issuer connects the service to oidc-provider, as docs/issuers.md says, and rotates its
// keys.
package issuer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// issuer is oidc-provider on an address, which it keeps when it starts again with other keys.
type issuer struct {
	port    int
	url     string
	folder  string
	stop    func()
	service *e2e.Service
}

// A replica accepts the first token of a new key. It asks for keys again at intervals only, so
// it needs some time to notice that a key is gone. It is not restarted.
func TestIssuer_RotatesItsKeys(t *testing.T) {
	t.Parallel()
	i := &issuer{port: testport.Free(t), folder: t.TempDir()}
	i.url = fmt.Sprintf("http://127.0.0.1:%d", i.port)
	i.start(t, "first")
	i.service = e2e.NewEnv(t).StartReplica(t, append(i.settings(t), "ORDERS_JWT_ISSUER="+i.url, "ORDERS_JWKS_URL="+i.url+"/jwks")...)

	first := i.token(t)
	i.wantBalance(t, "the first key", first, http.StatusOK)
	i.start(t, "second", "first")
	i.wantBalance(t, "a new key", i.token(t), http.StatusOK)
	i.wantBalance(t, "the first key, which is still published", first, http.StatusOK)
	i.start(t, "third")
	third := i.token(t)
	testwait.Until(t, "the replica asks for keys again", func() bool { return i.balance(t, third).Status == http.StatusOK })
	i.wantBalance(t, "a key that is gone", first, http.StatusUnauthorized)
}

// start starts the issuer in place of the one before. The first key signs.
func (i *issuer) start(t *testing.T, keys ...string) {
	t.Helper()
	if i.stop != nil {
		i.stop()
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"issuer.mjs", fmt.Sprint(i.port), i.folder}, keys...)...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	i.stop = func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
	t.Cleanup(i.stop)
	testwait.Until(t, "oidc-provider serves its keys", func() bool { return e2e.IsOK(i.url + "/jwks") })
}

// settings returns those of the row in docs/issuers.md.
func (i *issuer) settings(t *testing.T) (settings []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/issuers.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| \[oidc-provider\]\([^)]*\) \|([^|]*)\|`).FindSubmatch(page)
	for _, setting := range regexp.MustCompile("`(ORDERS_[^`]+)`").FindAllSubmatch(row[1], -1) {
		settings = append(settings, string(setting[1]))
	}
	return settings
}

// token returns an access token for the API, by client credentials.
func (i *issuer) token(t *testing.T) string {
	t.Helper()
	form := url.Values{
		"grant_type": {"client_credentials"}, "scope": {"shop:customer"}, "resource": {"https://api.shop.example"},
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.url+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("web", "web-secret")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var granted struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&granted); err != nil || granted.AccessToken == "" {
		t.Fatalf("no token: status %d, %v", resp.StatusCode, err)
	}
	return granted.AccessToken
}

func (i *issuer) balance(t *testing.T, token string) e2e.Reply {
	t.Helper()
	return i.service.Send(t, e2e.Get(token, "/customers/web/balance"))
}

func (i *issuer) wantBalance(t *testing.T, what, token string, status int) {
	t.Helper()
	if r := i.balance(t, token); r.Status != status {
		t.Errorf("%s: %d %s, want %d", what, r.Status, r.Body, status)
	}
}
