// Command grouped runs a command, such as go test, in whose builds the service lets all
// commands wait for others to share a transaction with; see [overlay.Grouped].
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"example.com/orders/internal/test/overlay"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: grouped command [argument ...]")
		os.Exit(2)
	}
	err := run(os.Args[1], os.Args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "grouped:", err)
		os.Exit(1)
	}
}

func run(name string, args ...string) error {
	dir, err := os.MkdirTemp("", "grouped-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system cleans its temporary folder
	description, err := overlay.Write(dir, overlay.Grouped("."))
	if err != nil {
		return err
	}
	cmd := exec.Command(name, args...) //nolint:noctx // it ends with this command
	cmd.Env = overlay.Environ(description)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
