// Command new copies this service under another name: `make new MODULE=… DIR=…`. It
// renames the module, the commands, the settings and everything else that carries the
// service's name. docs/copy.md describes the copy.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "new:", err)
		os.Exit(1)
	}
}

// run makes one copy of the service in the current folder.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("new", flag.ContinueOnError)
	module := flags.String("module", "", "module path of the copy, such as example.com/tickets")
	dir := flags.String("dir", "", "folder of the copy; it must be absent or empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *module == "" || *dir == "" {
		return errors.New("usage: make new MODULE=example.com/tickets DIR=../tickets")
	}
	copied, err := copyService(".", *module, *dir)
	if err != nil {
		return err
	}
	code, tests := copied.lines()
	_, err = fmt.Fprintf(out, `%s is in %s: %d lines of Go and %d of tests. Next:

  cd %[2]s
  make run     # the service with all that it needs, and a session to paste
  make test    # its tests
`, *module, *dir, code, tests)
	return err
}

// copyService copies the service in root to dir, under the module's name. It returns what it
// wrote.
func copyService(root, module, dir string) (tree, error) {
	from, err := ownName(root)
	if err != nil {
		return nil, err
	}
	to, err := parseName(module)
	if err != nil {
		return nil, err
	}
	if err := checkEmpty(dir); err != nil {
		return nil, err
	}
	files, err := readTree(root)
	if err != nil {
		return nil, err
	}
	if files, err = files.rename(from, to); err != nil {
		return nil, err
	}
	return files, files.write(dir)
}
