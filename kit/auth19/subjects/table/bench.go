package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// slots is how many subjects run at a time: most of the time, each of them waits.
const slots = 4

// bench is where subjects run: a folder, and the servers around them.
type bench struct {
	auth19, admin, subjects, bin, dir string

	runs int
	out  io.Writer
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
	if err != nil {
		return nil, err
	}
	subjects, err := filepath.Abs(".")
	b := &bench{
		auth19: program, admin: admin, subjects: subjects, bin: filepath.Join(filepath.Dir(program), "subjects"), dir: dir, runs: runs, out: out,
	}
	// auth19 runs the commands of a file, such as ../ctl, beside the file.
	return b, errors.Join(err, os.MkdirAll(b.bin, 0o755), os.Symlink(filepath.Join(subjects, "ctl"), filepath.Join(dir, "ctl")))
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

// all installs the subjects and tests them, several at a time. The first error ends all.
func (b *bench) all(ctx context.Context, subjects []*subject, probes []string) error {
	for i, s := range subjects {
		if i > 0 && subjects[i-1].folder == s.folder { // forms share it
			continue
		}
		if err := b.install(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.id, err)
		}
	}
	free := make(chan int, slots)
	for slot := range slots {
		free <- slot
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range subjects {
		s.slot = <-free
		group.Go(func() error {
			defer func() { free <- s.slot }()
			if err := b.test(ctx, s, probes); err != nil {
				return fmt.Errorf("%s: %w", s.id, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// environ returns what the scripts of a subject find in their environment.
func (b *bench) environ(s *subject) []string {
	database := fmt.Sprintf("subject%d", s.slot)
	// A socket has no host name, and some drivers insist on one.
	url := strings.Replace(b.admin, "@/postgres?", "@localhost/"+database+"?", 1)
	proxy := "postgres://postgres@127.0.0.1:" + s.ports() + "7/" + database + "?sslmode=disable"
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ORDERS_") })
	return append(environ, "SUBJECT="+filepath.Join(b.subjects, s.folder), "RUN="+b.folder(s), "FORM="+s.form, "NEEDS="+strings.Join(s.Needs, " "),
		"BIN="+b.bin, "PORTS="+s.ports(), "ADMIN_URL="+b.admin, "DATABASE="+database, "DATABASE_URL="+url,
		"PROXY_URL="+proxy, "REDIS_URL=redis://127.0.0.1:"+s.ports()+"3")
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
		psql -q "$ADMIN_URL" -c "CREATE DATABASE $DATABASE"
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
	return b.shell(ctx, s, `../ctl stop; psql -q "$ADMIN_URL" -c "DROP DATABASE IF EXISTS $DATABASE WITH (FORCE)"`)
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

// ask runs auth19 with the ports of the slot, and adds the report.
func (b *bench) ask(ctx context.Context, s *subject, probes []string) error {
	path := filepath.Join(b.folder(s), "report.json")
	_ = os.Remove(path)
	text, err := os.ReadFile(filepath.Join(s.folder, "auth19.yaml"))
	if err != nil {
		return err
	}
	file := filepath.Join(b.folder(s), "auth19.yaml")
	if err := os.WriteFile(file, s.moved(text), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.auth19, append([]string{"run", file, "--yes", "--json", path}, probes...)...)
	cmd.Dir, cmd.Env = s.folder, b.environ(s)
	said, failed := cmd.CombinedOutput()
	text, err = os.ReadFile(path)
	if err != nil { // with a report, its verdicts say what the exit status says
		return fmt.Errorf("%w: %s", errors.Join(failed, err), said)
	}
	return s.add(text)
}
