package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	files "example.com/orders/deploy/cluster"
	"example.com/orders/internal/dev/process"
)

// Node is a machine in the cluster: processes with one address and one folder, which
// live and die together.
type Node struct {
	cluster *Cluster
	role    role
	name    string
	number  int // from 1 within the role
	addr    string
	dir     string
	// gid is the group for the node processes if root starts them. No other process
	// has it, so that iptables recognises the node's packets.
	gid uint32
	// binary is the program of a service replica.
	binary string

	// process is the last started process, nil before. Children may outlive it.
	process  *process.Process
	paused   bool
	isolated bool
}

// Name returns the node name, such as postgres2.
func (n *Node) Name() string { return n.name }

// Addr returns the node address without a port.
func (n *Node) Addr() string { return n.addr }

// Use makes a service replica run a given binary from the next start on.
func (n *Node) Use(binary string) { n.binary = binary }

// Log returns the output from the node processes since the cluster started.
func (n *Node) Log() string {
	text, err := os.ReadFile(n.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// lastWords returns the end of the log, usually the reason why a process has ended.
func (n *Node) lastWords() string {
	const most = 1000
	log := strings.TrimSpace(n.Log())
	return log[max(0, len(log)-most):]
}

func (n *Node) logPath() string { return filepath.Join(n.dir, "log") }

// prepare makes the node folder and writes the configuration.
func (n *Node) prepare() error {
	users := fmt.Sprintf("%q \"\"\n%q \"\"\n", superuser, serviceRole) // pgbouncer's
	return errors.Join(
		os.Mkdir(n.dir, 0o750),
		n.configure(),
		os.WriteFile(filepath.Join(n.dir, "users"), []byte(users), 0o600),
		os.WriteFile(n.logPath(), nil, 0o600),
		n.cluster.account.own(n.dir, n.gid),
	)
}

// configure writes the configuration for a node that reads one.
func (n *Node) configure() error {
	if n.role.template == "" {
		return nil
	}
	text, err := template.ParseFS(files.Files, n.role.template)
	if err != nil {
		return err
	}
	var configuration bytes.Buffer
	if err := text.Execute(&configuration, values{n}); err != nil {
		return err
	}
	return os.WriteFile(n.configPath(), configuration.Bytes(), 0o600)
}

func (n *Node) configPath() string {
	return filepath.Join(n.dir, strings.TrimSuffix(n.role.template, ".tmpl"))
}

// values are the template values for a node.
type values struct{ *Node }

// Dir returns the node folder.
func (v values) Dir() string { return v.dir }

// Role returns the nodes in a role.
func (v values) Role(name string) []*Node { return v.cluster.Role(name) }

// Server returns the PostgreSQL node behind a pgbouncer.
func (v values) Server() *Node { return v.cluster.Role("postgres")[v.number-1] }

// Pgbouncers returns each pgbouncer with the Server.
func (v values) Pgbouncers() (all []values) {
	for _, n := range v.cluster.Role("pgbouncer") {
		all = append(all, values{n})
	}
	return all
}

// PostgresPrograms returns the folder with the PostgreSQL programs.
func (v values) PostgresPrograms() string { return v.cluster.bin["postgres"] }

// Synchronous reports whether COMMIT waits for a standby.
func (v values) Synchronous() bool { return !v.cluster.cfg.Asynchronous }

// Strict reports whether COMMIT waits even while there is no standby.
func (v values) Strict() bool { return !v.cluster.cfg.Asynchronous && !v.cluster.cfg.Available }

// Start starts the node processes and does not wait until they are ready. It kills
// running ones first.
func (n *Node) Start() error {
	n.Kill()
	log, err := os.OpenFile(n.logPath(), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	defer log.Close() //nolint:errcheck // the process has a separate descriptor
	args := n.role.command(n)
	program, err := n.place(args[0])
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	cmd := n.cluster.command(context.Background(), program, args[1:]...)
	cmd.Dir = n.dir // marks the node processes; see pids
	cmd.Env = append(cmd.Env, n.role.environ(n)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = n.cluster.account.attributes(n.gid)
	started, err := process.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	n.process = started
	return nil
}

// place copies a program into the node folder, because its user may be unable to
// reach it. System programs stay in place.
func (n *Node) place(program string) (string, error) {
	if !n.cluster.account.switched || strings.HasPrefix(program, "/usr/") {
		return program, nil
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	placed := filepath.Join(n.dir, filepath.Base(program))
	// A process may still run an older file with this name.
	if err := os.Remove(placed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return placed, os.WriteFile(placed, content, 0o755)
}

// Running reports whether the started process lives.
func (n *Node) Running() bool {
	if n.process == nil {
		return false
	}
	select {
	case <-n.process.Exited():
		return false
	default:
		return true
	}
}

// Kill kills all node processes at once (SIGKILL), like a power cut. They stay
// away until Start.
func (n *Node) Kill() {
	n.signal(syscall.SIGKILL)
	n.paused = false
	if n.process != nil {
		<-n.process.Exited()
	}
}

// quitTimeout bounds the PostgreSQL shutdown.
const quitTimeout = 5 * time.Second

// quit ends all node processes. PostgreSQL first removes the shared memory, which
// Kill leaves behind until the next start.
func (n *Node) quit() {
	if n.role.name == "postgres" {
		n.Resume()
		n.signal(syscall.SIGQUIT)
		for end := time.Now().Add(quitTimeout); len(n.pids()) > 0 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	n.Kill()
}

// Terminate asks the node to end (SIGTERM), and waits until it has.
func (n *Node) Terminate(ctx context.Context) error {
	if !n.Running() {
		return nil
	}
	n.process.Signal(syscall.SIGTERM)
	select {
	case <-n.process.Exited():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("terminate %s: %w", n.name, ctx.Err())
	}
}

// Pause stops all node processes (SIGSTOP) until Resume. They keep their
// connections, and the kernel still acknowledges packets.
func (n *Node) Pause() {
	n.paused = true
	n.signal(syscall.SIGSTOP)
}

// Resume continues a paused node.
func (n *Node) Resume() {
	n.signal(syscall.SIGCONT)
	n.paused = false
}

// signal sends a signal to all node processes, until no more appear.
func (n *Node) signal(s syscall.Signal) {
	reached := map[int]bool{}
	for {
		more := false
		for _, pid := range n.pids() {
			if !reached[pid] {
				reached[pid], more = true, true
				_ = syscall.Kill(pid, s) // may have just ended
			}
		}
		if !more && (s != syscall.SIGKILL || len(n.pids()) == 0) {
			return
		}
		if !more {
			time.Sleep(time.Millisecond) // killed, and the kernel has not removed it yet
		}
	}
}

// pids returns the processes with a working directory in the node folder. PostgreSQL
// detaches from Patroni and works in the data folder.
func (n *Node) pids() (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is well-formed
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err != nil || cwd != n.dir && !strings.HasPrefix(cwd, n.dir+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil && !isZombie(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isZombie reports whether a process has ended and the parent has not waited for it.
func isZombie(pid int) bool {
	stat, err := fs.ReadFile(os.DirFS("/proc"), strconv.Itoa(pid)+"/stat")
	_, state, found := strings.Cut(string(stat), ") ")
	return err != nil || found && strings.HasPrefix(state, "Z")
}

// command returns a command that runs a program with a minimal environment.
func (c *Cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=" + c.dir}
	return cmd
}
