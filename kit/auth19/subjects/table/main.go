// Command table tests every subject with auth19 and writes RESULTS.md. It needs a PostgreSQL
// server, and takes its URL from ORDERS_TEST_POSTGRES_URL; `make -C kit/auth19 table` has one.
//
// A subject is a folder with a description for auth19 (auth19.yaml), one for the page
// (subject.yaml), and the script run, which becomes one process of the server: PORT and REPLICA
// tell which. It may have the scripts build, prepare (before the start, in place of schema.sql)
// and ready (after it), and the file single, if there is one process only. Where subject.yaml
// lists forms, each of them has a row, and run finds it in FORM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	auth19 := flags.String("auth19", "../../../bin/auth19", "the program")
	only := flags.String("only", "", "subjects, separated by commas; RESULTS.md is printed instead of written")
	probes := flags.String("probes", "", "probes, separated by commas")
	runs := flags.Int("runs", 1, "how often a probe that fails is asked")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBench(*auth19, *runs, out)
	if err != nil {
		return err
	}
	defer b.close()
	subjects, err := readSubjects(".")
	if err != nil {
		return err
	}
	if *only != "" {
		subjects = slices.DeleteFunc(subjects, func(s *subject) bool { return !slices.Contains(fields(*only), s.id) })
	}
	for i, s := range subjects {
		if i == 0 || subjects[i-1].folder != s.folder { // forms share a folder
			if err := b.install(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s.id, err)
			}
		}
		if err := b.test(ctx, s, fields(*probes)); err != nil {
			return fmt.Errorf("%s: %w", s.id, err)
		}
	}
	text := results(subjects, time.Now().UTC(), *runs)
	if *only != "" || *probes != "" {
		_, err = io.WriteString(out, text)
		return err
	}
	return os.WriteFile("../RESULTS.md", []byte(text), 0o644)
}

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// bench is where subjects run: a folder, and the servers around them.
type bench struct {
	auth19, admin, bin, dir string
	runs                    int
	out                     io.Writer
}

func newBench(auth19 string, runs int, out io.Writer) (*bench, error) {
	admin := os.Getenv("ORDERS_TEST_POSTGRES_URL")
	if admin == "" {
		return nil, errors.New("ORDERS_TEST_POSTGRES_URL is not set: use make -C kit/auth19 table")
	}
	program, err := filepath.Abs(auth19)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "auth19-table-")
	b := &bench{auth19: program, admin: admin, bin: filepath.Join(filepath.Dir(program), "subjects"), dir: dir, runs: runs, out: out}
	return b, errors.Join(err, os.MkdirAll(b.bin, 0o755))
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

// environ returns what the scripts of a subject find in their environment.
func (b *bench) environ(s *subject) []string {
	// A socket has no host name, and some drivers insist on one.
	url := strings.Replace(b.admin, "@/postgres?", "@localhost/subject?", 1)
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ORDERS_") })
	return append(environ, "RUN="+b.folder(s), "FORM="+s.form, "NEEDS="+strings.Join(s.Needs, " "), "BIN="+b.bin,
		"ADMIN_URL="+b.admin, "DATABASE_URL="+url, "REDIS_URL=redis://127.0.0.1:18703")
}

func (b *bench) folder(s *subject) string { return filepath.Join(b.dir, s.id) }

// test starts a subject, asks it all probes, and asks those that fail again.
func (b *bench) test(ctx context.Context, s *subject, probes []string) error {
	began := time.Now()
	if err := b.start(ctx, s); err != nil {
		return errors.Join(err, b.logs(s), b.stop(ctx, s))
	}
	err := b.ask(ctx, s, probes)
	for range b.runs - 1 {
		if err != nil || len(s.red()) == 0 {
			break
		}
		err = b.ask(ctx, s, s.red())
	}
	if err != nil {
		return errors.Join(err, b.logs(s), b.stop(ctx, s))
	}
	_, err = fmt.Fprintf(b.out, "%-24s %-24s %3.0f s\n", s.id, s.verdicts(), time.Since(began).Seconds())
	return errors.Join(err, b.stop(ctx, s))
}

// install installs and builds what a subject needs, and nothing for other subjects.
func (b *bench) install(ctx context.Context, s *subject) error {
	return b.shell(ctx, s, `
		for program in $NEEDS; do ../../../../lab/need "$program"; done
		[ ! -e package.json ] || make -C ../.. subjects/node_modules "subjects/$(basename "$PWD")/node_modules"
		[ ! -e build ] || sh -e build`)
}

// start starts a subject on an empty database and an empty Redis.
func (b *bench) start(ctx context.Context, s *subject) error {
	return b.shell(ctx, s, `
		psql -q "$ADMIN_URL" -c 'CREATE DATABASE subject'
		[ -e prepare ] || psql -q "$DATABASE_URL" -f ../schema.sql
		[ ! -e prepare ] || sh -e prepare
		case " $NEEDS " in *' redis '*) ../ctl redis up ;; esac
		../ctl start a
		[ -e single ] || ../ctl start b
		[ ! -e ready ] || sh -e ready`)
}

// stop ends all processes of a subject, also when ctx has ended.
func (b *bench) stop(ctx context.Context, s *subject) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return b.shell(ctx, s, `../ctl stop; psql -q "$ADMIN_URL" -c 'DROP DATABASE IF EXISTS subject WITH (FORCE)'`)
}

// logs returns what the processes of a subject wrote, as an error.
func (b *bench) logs(s *subject) error {
	files, err := filepath.Glob(filepath.Join(b.folder(s), "*.log"))
	for _, file := range files {
		text, failed := os.ReadFile(file)
		err = errors.Join(err, failed, fmt.Errorf("%s: %.2000s", filepath.Base(file), text))
	}
	return err
}

// shell runs a script in the folder of a subject. What it leaves running does not keep it
// waiting, because the output is a file.
func (b *bench) shell(ctx context.Context, s *subject, script string) error {
	if err := os.MkdirAll(b.folder(s), 0o755); err != nil {
		return err
	}
	output, err := os.Create(filepath.Join(b.folder(s), "shell.log"))
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }()
	cmd := exec.CommandContext(ctx, "sh", "-ec", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.folder, b.environ(s), output, output
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(output.Name())
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// ask runs auth19 and adds the report.
func (b *bench) ask(ctx context.Context, s *subject, probes []string) error {
	path := filepath.Join(b.folder(s), "report.json")
	_ = os.Remove(path)
	cmd := exec.CommandContext(ctx, b.auth19, append([]string{"run", "auth19.yaml", "--yes", "--json", path}, probes...)...)
	cmd.Dir, cmd.Env = s.folder, b.environ(s)
	said, failed := cmd.CombinedOutput()
	text, err := os.ReadFile(path)
	if err != nil { // with a report, its verdicts say what the exit status says
		return fmt.Errorf("%w: %s", errors.Join(failed, err), said)
	}
	return s.add(text)
}
