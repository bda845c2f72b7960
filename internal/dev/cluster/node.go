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

// Node is a machine of the cluster: processes with one address and one folder, which live
// and die together.
type Node struct {
	cluster *Cluster
	role    role
	name    string
	number  int // from 1, among the nodes of its role
	addr    string
	dir     string
	// gid is the group of the node's processes where root starts them. No other process has
	// it, which is how iptables knows what the node sends.
	gid uint32
	// binary is what a replica of the service runs.
	binary string

	// process is what Start started, nil before. Its children may outlive it.
	process  *process.Process
	paused   bool
	isolated bool
}

// Name returns the name of the node, such as postgres2.
func (n *Node) Name() string { return n.name }

// Addr returns the address of the node, without a port.
func (n *Node) Addr() string { return n.addr }

// Use lets a replica of the service run another binary from its next start on.
func (n *Node) Use(binary string) { n.binary = binary }

// Log returns what the processes of the node have written since the cluster started.
func (n *Node) Log() string {
	text, err := os.ReadFile(n.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// lastWords returns the end of the log, which says why a process has ended.
func (n *Node) lastWords() string {
	const most = 1000
	log := strings.TrimSpace(n.Log())
	return log[max(0, len(log)-most):]
}

func (n *Node) logPath() string { return filepath.Join(n.dir, "log") }

// prepare makes the folder of the node, and writes its configuration.
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

// configure writes the configuration of a node that reads one.
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

// values are what the templates use of a node.
type values struct{ *Node }

// Dir returns the folder of the node.
func (v values) Dir() string { return v.dir }

// Role returns the nodes with a role.
func (v values) Role(name string) []*Node { return v.cluster.Role(name) }

// Server returns the node of PostgreSQL that a pgbouncer is in front of.
func (v values) Server() *Node { return v.cluster.Role("postgres")[v.number-1] }

// Pgbouncers returns each pgbouncer with its Server.
func (v values) Pgbouncers() (all []values) {
	for _, n := range v.cluster.Role("pgbouncer") {
		all = append(all, values{n})
	}
	return all
}

// PostgresPrograms returns the folder of PostgreSQL's programs.
func (v values) PostgresPrograms() string { return v.cluster.bin.postgres }

// Synchronous reports whether COMMIT waits for a standby.
func (v values) Synchronous() bool { return !v.cluster.cfg.Asynchronous }

// Strict reports whether it does so although there is none.
func (v values) Strict() bool { return !v.cluster.cfg.Asynchronous && !v.cluster.cfg.Available }

// Start starts the processes of the node, and does not wait for what they do. Those that
// live are killed first.
func (n *Node) Start() error {
	n.Kill()
	log, err := os.OpenFile(n.logPath(), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	defer log.Close() //nolint:errcheck // the process has a descriptor of its own
	args := n.role.command(n)
	program, err := n.place(args[0])
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	cmd := n.cluster.command(context.Background(), program, args[1:]...)
	cmd.Dir = n.dir // which marks the processes of the node; see pids
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

// place copies a program into the folder of the node, because the user who runs it may be
// unable to reach it. Programs of the system stay where they are.
func (n *Node) place(program string) (string, error) {
	if !n.cluster.account.switched || strings.HasPrefix(program, "/usr/") {
		return program, nil
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	placed := filepath.Join(n.dir, filepath.Base(program))
	// A file of the same name may be what a process still runs.
	if err := os.Remove(placed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return placed, os.WriteFile(placed, content, 0o755)
}

// Running reports whether the process that Start started lives.
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

// Kill ends all processes of the node at once, as a power cut does (SIGKILL). They stay away
// until Start.
func (n *Node) Kill() {
	n.signal(syscall.SIGKILL)
	n.paused = false
	if n.process != nil {
		<-n.process.Exited()
	}
}

// quitTimeout bounds the end of a PostgreSQL that was asked for it.
const quitTimeout = 5 * time.Second

// quit ends all processes of the node at once. PostgreSQL removes its shared memory before,
// which Kill leaves behind until it starts again.
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

// Pause stops all processes of the node (SIGSTOP) until Resume. They keep their connections,
// which the kernel goes on to acknowledge.
func (n *Node) Pause() {
	n.paused = true
	n.signal(syscall.SIGSTOP)
}

// Resume continues a paused node.
func (n *Node) Resume() {
	n.signal(syscall.SIGCONT)
	n.paused = false
}

// signal sends a signal to all processes of the node, until no more of them appear.
func (n *Node) signal(s syscall.Signal) {
	reached := map[int]bool{}
	for {
		more := false
		for _, pid := range n.pids() {
			if !reached[pid] {
				reached[pid], more = true, true
				_ = syscall.Kill(pid, s) // it may just have ended
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

// pids returns the processes whose working directory is the folder of the node, or in it.
// PostgreSQL detaches from Patroni, and works in the folder of its data.
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

// isZombie reports whether a process has ended, and nobody has asked how.
func isZombie(pid int) bool {
	stat, err := fs.ReadFile(os.DirFS("/proc"), strconv.Itoa(pid)+"/stat")
	_, state, found := strings.Cut(string(stat), ") ")
	return err != nil || found && strings.HasPrefix(state, "Z")
}

// command returns a command that runs a program without the variables of this process.
func (c *Cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=" + c.dir}
	return cmd
}
