package client

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// KeyStore stores one Idempotency-Key per operation name. Keys are no secrets. A store that
// forgets on its own can make a customer pay twice.
type KeyStore interface {
	// Key returns the operation key. It creates a missing key, and returns once it
	// is durable, or an error when the context ends. Concurrent callers get the same key.
	Key(ctx context.Context, operation string) (string, error)
	// Forget forgets the operation key if it is still this one. The next call to Key creates
	// another.
	Forget(ctx context.Context, operation, key string) error
}

// adopter is a store that outlives versions of this package. An operation has the key of its
// former name: it may have been sent, and processes of the last version still send it.
type adopter interface {
	keyOfBoth(ctx context.Context, operation, formerly string) (string, error)
	forgetBoth(ctx context.Context, operation, formerly, key string) error
}

// newKey returns a random UUID (version 4).
func newKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// MemoryStore keeps keys as long as the process lives. After a restart, the same name is a
// new operation: use it in tests, or where every operation has a reference. The zero value is
// empty.
type MemoryStore struct {
	mu   sync.Mutex
	keys map[string]string
}

// Key returns the operation key.
func (s *MemoryStore) Key(_ context.Context, operation string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]string{}
	}
	if s.keys[operation] == "" {
		s.keys[operation] = newKey()
	}
	return s.keys[operation], nil
}

// Forget forgets the operation key.
func (s *MemoryStore) Forget(_ context.Context, operation, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[operation] == key {
		delete(s.keys, operation)
	}
	return nil
}

// FileStore keeps keys in a folder, which processes may share. The folder must outlive the
// process: in a container, put it on a volume.
//
// The file <name hash>.0 holds the first key of an operation. Forgetting a key creates the next
// file with a new key. Files appear complete and never change, so no lock is needed.
type FileStore struct{ dir string }

// NewFileStore returns a store in a folder, and creates a missing folder.
func NewFileStore(dir string) (*FileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("key store: %w", err)
	}
	return &FileStore{dir}, nil
}

// Key returns the key in the last file of the operation.
func (s *FileStore) Key(ctx context.Context, operation string) (string, error) {
	return within(ctx, func() (string, error) { return s.key(operation, randomKey) })
}

// keyOfBoth returns the key of an operation, by default that of the former name.
func (s *FileStore) keyOfBoth(ctx context.Context, operation, formerly string) (string, error) {
	return within(ctx, func() (string, error) {
		return s.key(operation, func() (string, error) { return s.key(formerly, randomKey) })
	})
}

// randomKey is the source of most keys.
func randomKey() (string, error) { return newKey(), nil }

// key returns the key in the last file of the operation, or takes one from a
// source.
func (s *FileStore) key(operation string, source func() (string, error)) (string, error) {
	if err := s.create(operation, 0, source); err != nil {
		return "", err
	}
	key, err := s.read(operation, 0)
	for n := 1; err == nil; n++ {
		next, nextErr := s.read(operation, n)
		if errors.Is(nextErr, fs.ErrNotExist) {
			// The file may belong to a process that has not synced the folder yet.
			return key, s.syncDir()
		}
		key, err = next, nextErr
	}
	return "", fmt.Errorf("key store: %w", err)
}

// Forget creates the file after the one with the key.
func (s *FileStore) Forget(ctx context.Context, operation, key string) error {
	_, err := within(ctx, func() (string, error) { return "", s.forget(operation, key, randomKey) })
	return err
}

// forgetBoth also forgets the key under the former operation name. Both get the same
// next key.
func (s *FileStore) forgetBoth(ctx context.Context, operation, formerly, key string) error {
	next := func() (string, error) {
		if err := s.forget(formerly, key, randomKey); err != nil {
			return "", err
		}
		return s.key(formerly, randomKey)
	}
	_, err := within(ctx, func() (string, error) { return "", s.forget(operation, key, next) })
	return err
}

func (s *FileStore) forget(operation, key string, source func() (string, error)) error {
	for n := 0; ; n++ {
		stored, err := s.read(operation, n)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("key store: %w", err)
		case stored == key:
			if err := s.create(operation, n+1, source); err != nil {
				return err
			}
			return s.syncDir()
		}
	}
}

// within returns the result of work, or an error as soon as the context ends. A disk or a
// network folder may never answer, and no system call on files can be cancelled.
func within(ctx context.Context, work func() (string, error)) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("key store: %w", err)
	}
	var key string
	done := make(chan error, 1)
	go func() {
		made, err := work()
		key = made
		done <- err
	}()
	select {
	case err := <-done:
		return key, err
	case <-ctx.Done():
		return "", fmt.Errorf("key store: %w", ctx.Err())
	}
}

func (s *FileStore) path(operation string, n int) string {
	hash := sha256.Sum256([]byte(operation))
	return filepath.Join(s.dir, fmt.Sprintf("%s.%d", hex.EncodeToString(hash[:]), n))
}

func (s *FileStore) read(operation string, n int) (string, error) {
	content, err := os.ReadFile(s.path(operation, n))
	return strings.TrimSpace(string(content)), err
}

// create creates the n-th file of the operation with a key from a source, unless it exists. The
// content is durable before the file gets this name.
func (s *FileStore) create(operation string, n int, source func() (string, error)) error {
	path := s.path(operation, n)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key, err := source()
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.dir, "new-*")
	if err != nil {
		return fmt.Errorf("key store: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }() // leftovers are harmless
	_, err = temp.WriteString(key + "\n")
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return fmt.Errorf("key store: %w", err)
	}
	// Unlike a rename, a link never replaces a file.
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("key store: %w", err)
	}
	return nil
}

// syncDir makes the file names in the folder durable.
func (s *FileStore) syncDir() error {
	if runtime.GOOS == "windows" {
		return nil // it cannot sync a folder
	}
	dir, err := os.Open(s.dir)
	if err != nil {
		return fmt.Errorf("key store: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("key store: %w", err)
	}
	return nil
}
