package issuer

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// loadKeys returns the keys of earlier runs, oldest first.
func loadKeys(dir string) ([]signingKey, error) {
	if dir == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "issuer-*.pem"))
	if err != nil {
		return nil, err
	}
	var keys []signingKey
	for _, file := range files {
		key, err := loadKey(file)
		if err != nil {
			return nil, fmt.Errorf("read %s (remove the file to get a new key): %w", file, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func loadKey(file string) (signingKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return signingKey{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return signingKey{}, errors.New("not a PEM file")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return signingKey{}, err
	}
	private, ok := key.(crypto.Signer)
	if !ok {
		return signingKey{}, errors.New("not a signing key")
	}
	return newSigningKey(private, file)
}

// saveKey stores a new key in dir, unless dir is empty.
func saveKey(dir string, private crypto.Signer) (signingKey, error) {
	if dir == "" {
		return newSigningKey(private, "")
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return signingKey{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return signingKey{}, err
	}
	// The time has a fixed width, so that loadKeys lists the newest key last.
	file := filepath.Join(dir, fmt.Sprintf("issuer-%020d.pem", time.Now().UnixNano()))
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return signingKey{}, err
	}
	return newSigningKey(private, file)
}

// newSigningKey derives the id of a key from the public half, so that every process
// that loads the file gets the same id.
func newSigningKey(private crypto.Signer, file string) (signingKey, error) {
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return signingKey{}, err
	}
	hash := sha256.Sum256(der)
	return signingKey{id: hex.EncodeToString(hash[:8]), private: private, file: file}, nil
}

func (k signingKey) remove() error {
	if k.file == "" {
		return nil
	}
	return os.Remove(k.file)
}
