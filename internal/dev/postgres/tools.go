package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

const debianTools = "/usr/lib/postgresql/*/bin"

// tools is the directory with initdb, postgres and the other programs.
type tools string

func (t tools) path(program string) string { return filepath.Join(string(t), program) }

func (t tools) complete() bool {
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(t.path(program)); err != nil {
			return false
		}
	}
	return true
}

// Command returns a command that runs a PostgreSQL program (pg_basebackup, pg_ctl, …)
// as the server user.
func (p *Server) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.tools.path(program), args...)
	cmd.Dir = "/" // the server user may be unable to enter the current directory
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, p.cfg.Environ...)
	cmd.SysProcAttr = p.account.attributes()
	return cmd
}

// Programs returns the folder with the PostgreSQL programs. If there are none and root
// may do so, it installs the Debian package and reports that on notices.
func Programs(ctx context.Context, notices io.Writer) (dir string, err error) {
	found, err := findOrInstall(ctx, notices)
	return string(found), err
}

var errNoPostgres = errors.New("PostgreSQL is not installed")

func findOrInstall(ctx context.Context, notices io.Writer) (tools, error) {
	found, err := findTools(os.Getenv("PG_BINDIR"), debianTools)
	if !errors.Is(err, errNoPostgres) {
		return found, err
	}
	if !canInstall() {
		return "", fmt.Errorf("%w: %s", err, remedy(runtime.GOOS, haveApt()))
	}
	if err := install(ctx, notices); err != nil {
		return "", err
	}
	return findTools("", debianTools)
}

// findTools returns binDir if it is set, or the directory of the initdb in $PATH, or
// the newest version installed by the Debian packages.
func findTools(binDir, pattern string) (tools, error) {
	if binDir != "" {
		if !tools(binDir).complete() {
			return "", fmt.Errorf("no initdb and postgres in PG_BINDIR=%s: unset it, or set it to the directory that contains them", binDir)
		}
		return tools(binDir), nil
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		// The initdb in PATH is often a link; postgres is next to the target.
		if target, err := filepath.EvalSymlinks(initdb); err == nil && tools(filepath.Dir(target)).complete() {
			return tools(filepath.Dir(target)), nil
		}
	}
	return newestTools(pattern)
}

func newestTools(pattern string) (tools, error) {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !tools(dir).complete() })
	if len(dirs) == 0 {
		return "", errNoPostgres
	}
	return tools(slices.MaxFunc(dirs, func(a, b string) int { return majorVersion(a) - majorVersion(b) })), nil
}

// majorVersion returns 15 for /usr/lib/postgresql/15/bin, and 0 if there is no number.
func majorVersion(dir string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	if err != nil {
		return 0
	}
	return n
}

func haveApt() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil
}

func canInstall() bool { return os.Geteuid() == 0 && haveApt() }

func remedy(goos string, apt bool) string {
	switch {
	case apt:
		return "run: sudo apt-get install -y postgresql"
	case goos == "darwin":
		return "run: brew install postgresql@17, then set PG_BINDIR to the output of: echo $(brew --prefix postgresql@17)/bin"
	default:
		return "install the server of PostgreSQL 15 or newer and set PG_BINDIR to the directory of its initdb"
	}
}
