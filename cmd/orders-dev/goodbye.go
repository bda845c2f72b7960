package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// printGoodbye prints the remaining data, and how to remove it.
func printGoodbye(out io.Writer, dir string) error {
	remove := "rm -r " + dir
	// The data is elsewhere if the PostgreSQL user cannot reach the folder.
	if elsewhere, err := os.Readlink(filepath.Join(dir, "postgres")); err == nil {
		remove += " " + elsewhere
	}
	_, err := fmt.Fprintf(out, "\nGood-bye. The data stays in %s for the next run; to delete it: %s\n", dir, remove)
	return err
}
