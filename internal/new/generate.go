package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// generatedFiles are the files in bareFolder that its contract and its SQL generate.
var generatedFiles = []string{
	"internal/adapters/in/http/wire/models.gen.go",
	"internal/adapters/out/postgres/dbsqlc/entry.sql.go",
	"internal/adapters/out/postgres/dbsqlc/models.go",
	"internal/adapters/out/postgres/dbsqlc/tx.sql.go",
}

// regenerate makes the copy without the business under the current name, generates its code,
// and copies the generated files back.
func regenerate(root string) error {
	own, err := ownName(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder that is left does no harm
	if _, err := copyService(root, own.module, dir, true); err != nil {
		return err
	}
	if err := command(dir, "go", "tool", "-modfile=tools.mod", "sqlc", "generate"); err != nil {
		return err
	}
	if err := command(dir, "go", "generate", "./..."); err != nil {
		return err
	}
	for _, name := range generatedFiles {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, bareFolder, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// command runs a command in a folder. Without cgo, building the tools needs no C compiler.
func command(dir string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
