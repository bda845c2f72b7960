package issuer_test

import (
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	devissuer "example.com/orders/internal/dev/issuer"
)

// published returns the keys that an issuer with this configuration publishes.
func published(t *testing.T, cfg devissuer.Config) string {
	t.Helper()
	issuer, err := devissuer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	issuer.Handler().ServeHTTP(w, httptest.NewRequest("GET", devissuer.JWKSPath, nil))
	return w.Body.String()
}

func TestNew_LoadsTheKeysOfEarlierRuns(t *testing.T) {
	cfg := devissuer.Config{Dir: filepath.Join(t.TempDir(), "issuer")}

	if before, after := published(t, cfg), published(t, cfg); before != after {
		t.Errorf("keys before: %s\nand after:   %s", before, after)
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

func TestServe_RejectsOtherInterfaces(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	issuer, err := devissuer.New(devissuer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := issuer.Serve(t.Context(), listener); err == nil {
		t.Error("keys were served to the network")
	}
}
