package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"os"
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
	list, err := output(root, "git", "ls-files", "-z")
	if err != nil || list == "" {
		return nil, fmt.Errorf("git lists no files: only a repository with its files added can be copied (%w)", err)
	}
	files := tree{}
	for path := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
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
func (t tree) rename(r renamer) (tree, error) {
	renamed := tree{}
	for path, f := range t {
		if isText(f.data) {
			f.data = []byte(r.renameFile(path, string(f.data)))
		}
		path = r.renameFile(path, path)
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

func isText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

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
