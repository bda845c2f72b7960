package cluster

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

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

// condition reports the node's state in a word.
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
