package client

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
)

// stores are the shipped stores.
func stores(t *testing.T) map[string]KeyStore {
	t.Helper()
	return map[string]KeyStore{"memory": &MemoryStore{}, "files": newFileStore(t, t.TempDir())}
}

func newFileStore(t *testing.T, dir string) *FileStore {
	t.Helper()
	s, err := NewFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keyOf(t *testing.T, s KeyStore, operation string) string {
	t.Helper()
	key, err := s.Key(t.Context(), operation)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(key) {
		t.Errorf("%s has the key %q", operation, key)
	}
	return key
}

func forget(t *testing.T, s KeyStore, operation, key string) {
	t.Helper()
	if err := s.Forget(t.Context(), operation, key); err != nil {
		t.Fatal(err)
	}
}

func TestKeyStore_KeepsAKeyUntilItIsForgotten(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			first := keyOf(t, s, "cart-1/pay")
			if keyOf(t, s, "cart-1/pay") != first || keyOf(t, s, "../cart-2/pay") == first {
				t.Error("a name and a key do not belong together")
			}
			forget(t, s, "cart-1/pay", first)
			second := keyOf(t, s, "cart-1/pay")
			if second == first {
				t.Error("the forgotten key is back")
			}
			// A slow caller, who was refused under the first key, must not take the second one away.
			forget(t, s, "cart-1/pay", first)
			forget(t, s, "never-seen", first)
			if keyOf(t, s, "cart-1/pay") != second {
				t.Error("a caller with an old key has replaced the new one")
			}
		})
	}
}

func TestKeyStore_GivesAllCallersTheSameKey(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			var callers sync.WaitGroup
			keys := make([]string, 16)
			for i := range keys {
				callers.Go(func() {
					for n := range 5 {
						forget(t, s, "cart-1", keyOf(t, s, fmt.Sprint("cart-", n)))
					}
					keys[i] = keyOf(t, s, "cart-9")
				})
			}
			callers.Wait()
			for _, key := range keys {
				if key != keys[0] {
					t.Errorf("callers got %q and %q", key, keys[0])
				}
			}
		})
	}
}

func TestFileStore_SurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	before := newFileStore(t, dir)
	forgotten := map[string]bool{}
	for range 3 {
		key := keyOf(t, before, "cart-1")
		forgotten[key] = true
		forget(t, before, "cart-1", key)
	}
	key := keyOf(t, before, "cart-1")
	if got := keyOf(t, newFileStore(t, dir), "cart-1"); got != key || forgotten[got] || len(forgotten) != 3 {
		t.Errorf("the key was %s, after a restart it is %s; forgotten: %v", key, got, forgotten)
	}
}

const helperDir = "ORDERS_TEST_KEYS"

// TestMain makes keys instead of running tests in the processes that a test starts.
func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		printKeys(dir)
	}
	os.Exit(m.Run())
}

// printKeys prints a key for each of endless names.
func printKeys(dir string) {
	s, err := NewFileStore(dir)
	for n := 0; err == nil; n++ {
		var key string
		key, err = s.Key(context.Background(), fmt.Sprint("cart-", n))
		fmt.Println(key)
	}
	panic(err)
}

// startProcess starts a process that prints keys, and returns its lines.
func startProcess(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

func TestFileStore_IsSharedByProcessesAndSurvivesTheirKill(t *testing.T) {
	dir := t.TempDir()
	_, a := startProcess(t, dir)
	killed, b := startProcess(t, dir)
	var keys []string
	for n := range 100 {
		if n == 50 { // in the middle of making a key, most likely
			if err := killed.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		if !a.Scan() {
			t.Fatal("a process ended")
		}
		if n < 50 && (!b.Scan() || a.Text() != b.Text()) {
			t.Fatalf("cart-%d has the keys %q and %q", n, a.Text(), b.Text())
		}
		keys = append(keys, a.Text())
	}
	s := newFileStore(t, dir)
	for n, key := range keys {
		if got := keyOf(t, s, fmt.Sprint("cart-", n)); got != key {
			t.Errorf("cart-%d had the key %q, now %q", n, key, got)
		}
	}
}

func TestFileStore_IsOpenToItsUserOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "orders", "keys")
	keyOf(t, newFileStore(t, dir), "cart-1")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, err = %v", files, err)
	}
	for path, want := range map[string]os.FileMode{
		filepath.Dir(dir): os.ModeDir | 0o700, dir: os.ModeDir | 0o700, files[0]: 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, want %v, err = %v", path, info.Mode(), want, err)
		}
	}
}

func TestFileStore_IgnoresWhatACrashLeftBehind(t *testing.T) {
	dir := t.TempDir()
	s := newFileStore(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "new-1234"), []byte("half a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	keyOf(t, s, "cart-1")
}
