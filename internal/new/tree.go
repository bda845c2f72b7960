package main

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// tree holds a service's files by their slash-separated paths.
type tree map[string]file

type file struct {
	mode fs.FileMode
	data []byte
}

// readTree reads the files in root that belong to its repository.
func readTree(root string) (tree, error) {
	git := exec.CommandContext(context.Background(), "git", "ls-files", "-z")
	git.Dir = root
	list, err := git.Output()
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("git lists no files: only a repository with its files added can be copied (%w)", err)
	}
	files := tree{}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		full := filepath.Join(root, filepath.FromSlash(path))
		info, err := os.Stat(full)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(full)
		if err != nil {
			return nil, err
		}
		files[path] = file{info.Mode().Perm(), data}
	}
	return files, nil
}

// rename returns the service's tree under another name. It formats Go files again, because
// columns move.
func (t tree) rename(from, to name) (tree, error) {
	names, renamed := newRenamer(from, to), tree{}
	for path, f := range t {
		if isText(f.data) {
			f.data = []byte(names.renameFile(path, string(f.data)))
		}
		path = names.rename(path)
		if strings.HasSuffix(path, ".go") {
			formatted, err := format.Source(f.data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			f.data = formatted
		}
		renamed[path] = f
	}
	return renamed, nil
}

// lines counts the lines of Go: those of the service, and those of its tests.
func (t tree) lines() (code, tests int) {
	for path, f := range t {
		switch n := bytes.Count(f.data, []byte("\n")); {
		case strings.HasSuffix(path, "_test.go"), strings.HasPrefix(path, "internal/test/") && strings.HasSuffix(path, ".go"):
			tests += n
		case strings.HasSuffix(path, ".go"):
			code += n
		}
	}
	return code, tests
}

func isText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

// checkEmpty returns an error unless a folder is absent or empty.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("DIR %s is not empty: name a new folder", dir)
	}
	return nil
}

// write writes the files below a folder.
func (t tree) write(dir string) error {
	for path, f := range t {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}
