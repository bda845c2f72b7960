package issuer_test

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	devissuer "example.com/orders/internal/dev/issuer"
)

func newIssuer(t *testing.T, cfg devissuer.Config) *devissuer.Issuer {
	t.Helper()
	issuer, err := devissuer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

func token(t *testing.T, issuer *devissuer.Issuer) string {
	t.Helper()
	signed, err := issuer.Token("sber-42", []string{"customer"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// verify verifies a token as the service does, with the published keys.
func verify(t *testing.T, jwksURL, signed string) (jwt.MapClaims, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context()) // stops the refresh of keys
	defer cancel()
	keys, err := keyfunc.NewDefaultCtx(ctx, []string{jwksURL})
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(signed, claims, keys.Keyfunc,
		jwt.WithIssuer(devissuer.Name), jwt.WithAudience(devissuer.Audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithValidMethods([]string{"RS256", "ES256"}))
	return claims, err
}

// publish serves the keys and returns their URL.
func publish(t *testing.T, issuer *devissuer.Issuer) string {
	t.Helper()
	server := httptest.NewServer(issuer.Handler())
	t.Cleanup(server.Close)
	return server.URL + devissuer.JWKSPath
}

func TestToken_IsVerifiedByThePublishedKeys(t *testing.T) {
	for _, algorithm := range []string{"RS256", "ES256"} {
		t.Run(algorithm, func(t *testing.T) {
			issuer := newIssuer(t, devissuer.Config{Algorithm: algorithm})
			claims, err := verify(t, publish(t, issuer), token(t, issuer))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"sub": "sber-42", "roles": []any{"customer"}}
			if diff := cmp.Diff(want, map[string]any{"sub": claims["sub"], "roles": claims["roles"]}); diff != "" {
				t.Error(diff)
			}
			if claims["jti"] == "" {
				t.Error("the token has no jti")
			}
		})
	}
}

// The service bounds the type and the lifetime of tokens.
func TestToken_SaysWhatItIsAndWhenItWasIssued(t *testing.T) {
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(token(t, newIssuer(t, devissuer.Config{})), claims)
	if err != nil {
		t.Fatal(err)
	}
	issued, _ := claims["iat"].(float64)
	expires, _ := claims["exp"].(float64)
	if parsed.Header["typ"] != "JWT" || expires-issued != time.Minute.Seconds() {
		t.Errorf("typ %v, issued at %v, expires at %v; want a JWT that is valid for a minute", parsed.Header["typ"], issued, expires)
	}
}

func TestRotate_KeepsOldKeysUntilRetire(t *testing.T) {
	issuer := newIssuer(t, devissuer.Config{Algorithm: "ES256", Dir: t.TempDir()})
	url := publish(t, issuer)
	before := token(t, issuer)
	if err := issuer.Rotate(); err != nil {
		t.Fatal(err)
	}
	for name, signed := range map[string]string{"before": before, "after": token(t, issuer)} {
		if _, err := verify(t, url, signed); err != nil {
			t.Errorf("token signed %s the rotation: %v", name, err)
		}
	}
	if err := issuer.Retire(); err != nil {
		t.Fatal(err)
	}
	if _, err := verify(t, url, before); err == nil {
		t.Error("a token of the retired key was accepted")
	}
	if _, err := verify(t, url, token(t, issuer)); err != nil {
		t.Error(err)
	}
}

func TestNew_LoadsTheKeysOfEarlierRuns(t *testing.T) {
	cfg := devissuer.Config{Dir: filepath.Join(t.TempDir(), "issuer")}
	signed := token(t, newIssuer(t, cfg))

	if _, err := verify(t, publish(t, newIssuer(t, cfg)), signed); err != nil {
		t.Error(err)
	}

	files, err := filepath.Glob(filepath.Join(cfg.Dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files = %v, err = %v; want one key", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode is %v, want 0600", info.Mode().Perm())
	}
}

func TestNew_NamesADamagedKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "issuer-1.pem")
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := devissuer.New(devissuer.Config{Dir: filepath.Dir(file)})
	want := "open the development issuer: read " + file + " (remove the file to get a new key): not a PEM file"
	if err == nil || err.Error() != want {
		t.Errorf("err = %v\nwant  %s", err, want)
	}
}

func TestNew_RejectsAnUnknownAlgorithm(t *testing.T) {
	if _, err := devissuer.New(devissuer.Config{Algorithm: "none"}); err == nil {
		t.Error("no error")
	}
}

func TestServe_EndsWithItsContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	issuer := newIssuer(t, devissuer.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- issuer.Serve(ctx, listener) }()

	if _, err := verify(t, "http://"+listener.Addr().String()+devissuer.JWKSPath, token(t, issuer)); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServe_RejectsOtherInterfaces(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := newIssuer(t, devissuer.Config{}).Serve(t.Context(), listener); err == nil {
		t.Error("keys were served to the network")
	}
}
