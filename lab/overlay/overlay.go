// Package overlay removes a protection from a build and leaves the work tree
// untouched: `go build -overlay` reads the changed files from elsewhere.
package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Edit replaces a text that occurs once in a file, or adds a file.
type Edit struct {
	// File is relative to the working directory. Before is empty for a new file.
	File, Before, After string
}

// Write writes the changed files into dir, and returns the path to the description for
// `go build -overlay`.
func Write(dir string, edits ...Edit) (description string, err error) {
	changed := map[string]string{}
	for _, e := range edits {
		if err := e.apply(changed); err != nil {
			return "", err
		}
	}
	replace := map[string]string{}
	for file, text := range changed {
		original, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replacement := filepath.Join(dir, strconv.Itoa(len(replace))+"-"+filepath.Base(file))
		if err := os.WriteFile(replacement, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[original] = replacement
	}
	return writeDescription(filepath.Join(dir, "overlay.json"), replace)
}

func writeDescription(path string, replace map[string]string) (string, error) {
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	return path, errors.Join(err, os.WriteFile(path, text, 0o600))
}

// apply edits a file's text, which earlier edits may have changed.
func (e Edit) apply(changed map[string]string) error {
	text, known := changed[e.File]
	if !known && e.Before == "" {
		if _, err := os.Stat(e.File); err == nil {
			return fmt.Errorf("%s cannot be added: it exists", e.File)
		}
		changed[e.File] = e.After
		return nil
	}
	if !known {
		read, err := os.ReadFile(e.File)
		if err != nil {
			return err
		}
		text = string(read)
	}
	if n := strings.Count(text, e.Before); n != 1 {
		return fmt.Errorf("%s contains %d times, want once: %s", e.File, n, e.Before)
	}
	changed[e.File] = strings.Replace(text, e.Before, e.After, 1)
	return nil
}

// Environ returns an environment in which every build uses the overlay, including
// builds by tests.
func Environ(description string) []string {
	return append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+description)
}
