package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
)

// ErrNobody reports that no node has the requested role at the moment.
var ErrNobody = errors.New("no node has this role at the moment")

// Stream is the event stream; [Cluster.StreamLeader] returns its leader.
const Stream = "ORDERS"

// client keeps no connections that a killed node could break.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Primary returns the node with the writable PostgreSQL according to Patroni, or
// ErrNobody.
func (c *Cluster) Primary(ctx context.Context) (*Node, error) { return c.first(ctx, "primary") }

// SyncStandby returns the standby that COMMIT waits for, or ErrNobody.
func (c *Cluster) SyncStandby(ctx context.Context) (*Node, error) {
	return c.first(ctx, "synchronous")
}

// first returns the first node where Patroni answers a health check with 200.
func (c *Cluster) first(ctx context.Context, check string) (*Node, error) {
	for _, n := range c.Role("postgres") {
		if _, err := read(ctx, n.patroniURL(check)); err == nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", check, ErrNobody)
}

func (n *Node) patroniURL(path string) string {
	return "http://" + net.JoinHostPort(n.addr, "8008") + "/" + path
}

// Pgbouncer returns the pgbouncer in front of a PostgreSQL node.
func (c *Cluster) Pgbouncer(server *Node) *Node { return c.Role("pgbouncer")[server.number-1] }

// EtcdLeader returns the etcd leader, or ErrNobody.
func (c *Cluster) EtcdLeader(ctx context.Context) (*Node, error) {
	for _, n := range c.Role("etcd") {
		if n.leadsEtcd(ctx) {
			return n, nil
		}
	}
	return nil, fmt.Errorf("leader of etcd: %w", ErrNobody)
}

func (n *Node) leadsEtcd(ctx context.Context) bool {
	metrics, err := read(ctx, n.etcdURL("metrics"))
	return err == nil && bytes.Contains(metrics, []byte("\netcd_server_is_leader 1\n"))
}

func (n *Node) etcdURL(path string) string {
	return "http://" + net.JoinHostPort(n.addr, "2379") + "/" + path
}

// StreamLeader returns the server that leads the event stream, or ErrNobody.
func (c *Cluster) StreamLeader(ctx context.Context) (*Node, error) {
	info, err := c.stream(ctx)
	if err != nil {
		return nil, err
	}
	if info.Cluster == nil || c.Node(info.Cluster.Leader) == nil {
		return nil, fmt.Errorf("leader of the stream: %w", ErrNobody)
	}
	return c.Node(info.Cluster.Leader), nil
}

func (c *Cluster) stream(ctx context.Context) (*nats.StreamInfo, error) {
	conn, err := nats.Connect(c.BrokerURL(), nats.DontRandomize())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	streams, err := conn.JetStream(nats.Context(ctx))
	if err != nil {
		return nil, err
	}
	return streams.StreamInfo(Stream)
}

// Describe writes a line for each node: its name and address, whether it runs, and its
// current duty.
func (c *Cluster) Describe(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	duties := c.duties(ctx)
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, n := range c.nodes {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", n.name, n.addr, n.condition(), duties[n.name]) // Flush returns the error
	}
	return table.Flush()
}

// condition reports the node state in a word.
func (n *Node) condition() string {
	switch {
	case !n.Running():
		return "dead"
	case n.isolated:
		return "cut off"
	case n.paused:
		return "stopped"
	}
	return "running"
}

// duties returns current duties by node name. It leaves out unknown ones.
func (c *Cluster) duties(ctx context.Context) map[string]string {
	duties := map[string]string{}
	if leader, err := c.EtcdLeader(ctx); err == nil {
		duties[leader.name] = "leader"
	}
	if members, err := c.Members(ctx); err == nil {
		for _, m := range members {
			duties[m.Name] = fmt.Sprintf("%s, %s", m.Role, m.State)
		}
	}
	if leader, err := c.StreamLeader(ctx); err == nil {
		duties[leader.name] = "leader of the stream of events"
	}
	if statistics, err := read(ctx, c.statisticsURL()); err == nil {
		for _, n := range c.Role("orders") {
			duties[n.name] = "gets no requests"
			if isUp(statistics, n.name) {
				duties[n.name] = "gets requests"
			}
		}
	}
	return duties
}

// AwaitWhole waits until every node works: there is a primary, with a synchronous
// standby if required, and all standbys follow it; etcd and the stream have all
// members; and HAProxy sends requests to every service replica.
func (c *Cluster) AwaitWhole(ctx context.Context) error {
	return c.await(ctx, "a whole cluster", c.Whole)
}

// Whole returns nil if the cluster is whole, and otherwise the reason why not.
func (c *Cluster) Whole(ctx context.Context) error {
	for _, check := range []func(context.Context) error{
		c.checkProcesses, c.checkEtcd, c.checkDatabase, c.checkBroker, c.checkReplicas,
	} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) checkProcesses(context.Context) error {
	for _, n := range c.nodes {
		if !n.Running() {
			return fmt.Errorf("%s does not run, and wrote: %s", n.name, n.lastWords())
		}
		if n.isolated {
			return fmt.Errorf("%s is cut off", n.name)
		}
	}
	return nil
}

func (c *Cluster) checkEtcd(ctx context.Context) error {
	for _, n := range c.Role("etcd") {
		if _, err := read(ctx, n.etcdURL("health")); err != nil {
			return fmt.Errorf("%s is not healthy: %w", n.name, err)
		}
	}
	return nil
}

// Member is a PostgreSQL server as Patroni sees it.
type Member struct {
	Name  string `json:"name"`
	Role  string `json:"role"`  // leader, sync_standby or replica
	State string `json:"state"` // running or streaming is good
	// Lag is the number of bytes that the standby is behind, or the text "unknown".
	Lag      any `json:"lag,omitempty"`
	Timeline int `json:"timeline"`
}

// Members returns the PostgreSQL servers as the first responding Patroni knows them.
func (c *Cluster) Members(ctx context.Context) ([]Member, error) {
	var errs []error
	for _, n := range c.Role("postgres") {
		body, err := read(ctx, n.patroniURL("cluster"))
		if err == nil {
			var state struct{ Members []Member }
			return state.Members, json.Unmarshal(body, &state)
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (c *Cluster) checkDatabase(ctx context.Context) error {
	members, err := c.Members(ctx)
	if err != nil {
		return err
	}
	leader := slices.IndexFunc(members, func(m Member) bool { return m.Role == "leader" && m.State == "running" })
	if leader < 0 || len(members) < len(c.Role("postgres")) {
		return fmt.Errorf("PostgreSQL has no primary, or too few members: %v", members)
	}
	for _, m := range members {
		if m.Timeline != members[leader].Timeline || m.State != "running" && m.State != "streaming" {
			return fmt.Errorf("%s does not follow the primary: %v", m.Name, members)
		}
	}
	if c.cfg.Asynchronous {
		return nil
	}
	if !slices.ContainsFunc(members, func(m Member) bool { return m.Role == "sync_standby" }) {
		return fmt.Errorf("no standby is synchronous: %v", members)
	}
	return nil
}

func (c *Cluster) checkBroker(ctx context.Context) error {
	info, err := c.stream(ctx)
	if errors.Is(err, nats.ErrStreamNotFound) {
		return nil // the first event creates it
	}
	if err != nil {
		return err
	}
	if info.Cluster == nil || len(info.Cluster.Replicas) < info.Config.Replicas-1 {
		return errors.New("the stream has too few members")
	}
	for _, member := range info.Cluster.Replicas {
		if member.Offline || !member.Current {
			return fmt.Errorf("%s does not follow the leader of the stream", member.Name)
		}
	}
	return nil
}

func (c *Cluster) checkReplicas(ctx context.Context) error {
	statistics, err := read(ctx, c.statisticsURL())
	if err != nil {
		return err
	}
	for _, n := range c.Role("orders") {
		if !isUp(statistics, n.name) {
			return fmt.Errorf("HAProxy sends nothing to %s", n.name)
		}
	}
	return nil
}

// statisticsURL returns the URL for the HAProxy statistics as CSV.
func (c *Cluster) statisticsURL() string {
	return "http://" + net.JoinHostPort(c.Node("haproxy").addr, "8404") + "/;csv"
}

// isUp reports whether HAProxy sends requests to a service replica.
func isUp(statistics []byte, replica string) bool {
	for line := range bytes.Lines(statistics) {
		if bytes.HasPrefix(line, []byte("orders,"+replica+",")) {
			return bytes.Contains(line, []byte(",UP,"))
		}
	}
	return false
}

// answerLimit bounds one request to a node: the rest answer although one has stopped.
const answerLimit = 2 * time.Second

// read returns the body of a successful response.
func read(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(resp.Body)
}
