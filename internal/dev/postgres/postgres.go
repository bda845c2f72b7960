// Package postgres runs a PostgreSQL cluster for development and tests with the
// programs installed by the operating system. It works on Linux and macOS. It is not
// meant for production.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/dev/process"
)

const (
	// superuser is the role created by initdb, which owns every database.
	superuser = "postgres"
	// defaultPort names the socket file, even if TCP is off.
	defaultPort = 5432
	// stopTimeout bounds an orderly shutdown, which ends with a checkpoint. After it,
	// the server is stopped at once.
	stopTimeout = 30 * time.Second
)

// Config describes a cluster.
type Config struct {
	// DataDir holds the data. The first start creates it, later ones continue with it.
	// Empty means a temporary directory, which Stop removes. It is in memory where
	// there is room, so that only a machine crash loses it.
	//
	// If root starts the server, it runs as a different user. If that user cannot reach
	// DataDir (a clone below /root), the data is in a directory below /var/tmp, and
	// DataDir is a symbolic link to it.
	DataDir string
	// Template is the data directory of a stopped cluster, which the first start copies.
	// Empty means that it runs initdb.
	Template string
	// WALDir is where the first start places the write-ahead log, on a second disk for
	// example. Empty means in DataDir.
	WALDir string
	// Settings are parameters of postgresql.conf. If there are none, commits are durable.
	Settings map[string]string
	// Port is the port on 127.0.0.1, where the server asks for no password. 0 means no
	// TCP: the server listens on a Unix socket that only its own user and root can
	// open.
	Port int
	// Environ are further environment variables of the programs, "NAME=value" each.
	Environ []string
	// Log receives the server log. May be nil.
	Log io.Writer
	// Notices receives the line that reports an installation of PostgreSQL. May be nil.
	Notices io.Writer
}

// Server is a running PostgreSQL cluster. On Linux, it stops at once when this process
// dies. URL may be called at any time, the other methods by one goroutine at a time.
type Server struct {
	cfg     Config
	tools   tools
	account account
	dataDir string
	runDir  string // holds the socket, and temporary data
	server  *process.Process
}

// Start starts a server and returns when it accepts connections. ctx bounds the start
// only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	pg, err := prepare(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	if err := pg.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start postgres: %w", err), os.RemoveAll(pg.runDir))
	}
	return pg, nil
}

func prepare(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Log = cmp.Or(cfg.Log, io.Discard)
	cfg.Notices = cmp.Or(cfg.Notices, io.Discard)
	bin, err := findOrInstall(ctx, cfg.Notices)
	if err != nil {
		return nil, err
	}
	acc, err := serverAccount()
	if err != nil {
		return nil, err
	}
	runDir, err := os.MkdirTemp(runDirParent(cfg), "orders-pg-")
	if err != nil {
		return nil, err
	}
	pg := &Server{cfg: cfg, tools: bin, account: acc, runDir: runDir}
	if err := pg.prepareData(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(runDir))
	}
	return pg, nil
}

// runDirParent returns the place for the socket and temporary data. A Unix socket path
// is limited to about 100 bytes, and $TMPDIR may be longer.
func runDirParent(cfg Config) string {
	if cfg.DataDir == "" && hasRoomInMemory() {
		return memoryDir
	}
	return "/tmp"
}

func (p *Server) prepareData(ctx context.Context) error {
	if err := p.account.own(p.runDir); err != nil {
		return err
	}
	wanted := cmp.Or(p.cfg.DataDir, filepath.Join(p.runDir, "data"))
	dir, err := placeData(ctx, wanted, p.account)
	if err != nil {
		return err
	}
	p.dataDir = dir
	if _, err := os.Stat(filepath.Join(dir, "PG_VERSION")); errors.Is(err, os.ErrNotExist) {
		return p.initialize(ctx)
	}
	return p.account.checkOwner(dir)
}

// initialize creates the cluster under a temporary name and renames it, so that an
// interrupted first start leaves no half-made cluster.
func (p *Server) initialize(ctx context.Context) error {
	staging := p.dataDir + ".initdb"
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return err
	}
	if err := p.account.own(staging); err != nil {
		return err
	}
	fill := p.initdb
	if p.cfg.Template != "" {
		fill = p.copyTemplate
	}
	if err := fill(ctx, staging); err != nil {
		return errors.Join(err, os.RemoveAll(staging))
	}
	// Remove fails unless the directory is empty, so that foreign files are safe.
	if err := os.Remove(p.dataDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("make room for the data: %w", err), os.RemoveAll(staging))
	}
	return os.Rename(staging, p.dataDir)
}

func (p *Server) initdb(ctx context.Context, dir string) error {
	args := []string{
		"--pgdata=" + dir, "--username=" + superuser, "--auth=trust",
		"--encoding=UTF8", "--locale=" + utf8Locale, "--data-checksums", "--no-instructions",
	}
	if p.cfg.DataDir == "" {
		args = append(args, "--no-sync") // temporary data need not survive a power failure
	}
	if p.cfg.WALDir != "" {
		args = append(args, "--waldir="+p.cfg.WALDir)
	}
	if out, err := p.Command(ctx, "initdb", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// copyTemplate copies as the server's user, who will own the files.
func (p *Server) copyTemplate(ctx context.Context, dir string) error {
	cp := exec.CommandContext(ctx, "cp", "-R", p.cfg.Template+"/.", dir)
	cp.SysProcAttr = p.account.attributes()
	cp.Dir = "/" // the server's user may be unable to enter the current directory
	if out, err := cp.CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", p.cfg.Template, err, out)
	}
	return nil
}

func (p *Server) start(ctx context.Context) error {
	if err := releaseStaleLock(ctx, p.dataDir); err != nil {
		return err
	}
	log := &tail{next: p.cfg.Log}
	cmd := p.Command(context.WithoutCancel(ctx), "postgres", p.serverArgs()...)
	cmd.Stdout, cmd.Stderr = log, log
	server, err := process.Start(cmd, syscall.SIGQUIT)
	if err != nil {
		return err
	}
	p.server = server
	if err := p.awaitReady(ctx); err != nil {
		p.Kill()
		return fmt.Errorf("%w: %s", err, log.reason())
	}
	return nil
}

func (p *Server) serverArgs() []string {
	settings := map[string]string{
		"listen_addresses":        "",
		"port":                    strconv.Itoa(p.port()),
		"unix_socket_directories": p.runDir,
		"unix_socket_permissions": "0700",
	}
	if p.cfg.Port != 0 {
		settings["listen_addresses"] = "127.0.0.1"
	}
	maps.Copy(settings, p.cfg.Settings)
	args := []string{"-D", p.dataDir}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

func (p *Server) port() int { return cmp.Or(p.cfg.Port, defaultPort) }

// awaitReady returns nil when the server accepts connections, or an error when it has
// ended or ctx ends.
func (p *Server) awaitReady(ctx context.Context) error {
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		if conn, err := pgx.Connect(ctx, p.URL(superuser)); err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-p.Done():
			return errors.New("the server ended during its start")
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w", ctx.Err())
		case <-retry.C:
		}
	}
}

// URL returns a database URL for pgx, libpq and golang-migrate, as the owner. Restart
// does not change it.
func (p *Server) URL(database string) string { return p.URLAs(superuser, database) }

// URLAs is URL for a given role.
func (p *Server) URLAs(role, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database}
	query := url.Values{"sslmode": {"disable"}}
	if p.cfg.Port != 0 {
		u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(p.cfg.Port))
	} else {
		query.Set("host", p.runDir)
		query.Set("port", strconv.Itoa(defaultPort)) // otherwise $PGPORT would count
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// DataDir returns the data directory, with links resolved.
func (p *Server) DataDir() string { return p.dataDir }

// Done returns a channel that is closed when the server has ended for any reason.
func (p *Server) Done() <-chan struct{} { return p.server.Exited() }

// EnsureDatabase creates a database unless it exists.
func (p *Server) EnsureDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, p.URL(superuser))
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	defer func() { _ = conn.Close(ctx) }() // every statement has committed by itself
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists)
	if err != nil || exists {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// DropDatabase drops a database, with the connections to it, if it exists.
func (p *Server) DropDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, p.URL(superuser))
	if err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	defer func() { _ = conn.Close(ctx) }() // every statement has committed by itself
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// Stop ends all sessions, shuts the server down, waits for its end and removes
// temporary files.
func (p *Server) Stop() error {
	err := p.shutdown()
	if removed := os.RemoveAll(p.runDir); removed != nil {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return fmt.Errorf("stop postgres: %w", err)
	}
	return nil
}

// shutdown sends SIGINT, which ends the sessions. SIGTERM would wait for them.
func (p *Server) shutdown() error {
	p.server.Signal(syscall.SIGINT)
	select {
	case <-p.Done():
		return p.server.Err()
	case <-time.After(stopTimeout):
		p.Kill()
		return fmt.Errorf("no shutdown within %v: stopped at once", stopTimeout)
	}
}

// Kill ends the server like a crash, without a checkpoint, and waits for its end. The
// next start recovers the data from the write-ahead log.
func (p *Server) Kill() {
	p.server.Signal(syscall.SIGQUIT)
	<-p.Done()
}

// Restart starts the server on the same data and with the same URL. If it is still
// running, it is shut down first.
func (p *Server) Restart(ctx context.Context) error {
	// Errors do not matter: the start fails if the data is unusable.
	_ = p.shutdown()
	if err := p.start(ctx); err != nil {
		return fmt.Errorf("restart postgres: %w", err)
	}
	return nil
}
