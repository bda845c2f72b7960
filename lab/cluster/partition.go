package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// ErrNoPartitions reports that this process cannot cut nodes off.
var ErrNoPartitions = errors.New("cutting nodes off the network takes root and iptables")

// CanPartition returns nil if [Node.Isolate] can work, and ErrNoPartitions otherwise.
func CanPartition() error {
	if _, err := iptables("--numeric", "--list", "OUTPUT"); os.Geteuid() != 0 || err != nil {
		return ErrNoPartitions
	}
	return nil
}

// Isolate cuts the node off the network until Heal: packets from and to it are dropped.
// There are no errors; connections just stall.
//
// All nodes are on one machine, and a connection to any node comes from 127.0.0.1. So
// the rules recognise a node's packets by the group of the sending process.
func (n *Node) Isolate() error {
	if err := CanPartition(); err != nil {
		return err
	}
	return n.changeRules("--append")
}

// Heal undoes Isolate.
func (n *Node) Heal() error {
	if !n.isolated {
		return nil
	}
	return n.changeRules("--delete")
}

func (n *Node) changeRules(change string) error {
	n.cluster.partitions.Lock()
	defer n.cluster.partitions.Unlock()
	group := strconv.FormatUint(uint64(n.gid), 10)
	sent := []string{change, "OUTPUT", "--match", "owner", "--gid-owner", group, "!", "--destination", n.addr, "--jump", "DROP"}
	received := []string{change, "OUTPUT", "--destination", n.addr, "--match", "owner", "!", "--gid-owner", group, "--jump", "DROP"}
	for _, rule := range [][]string{sent, received} {
		if out, err := iptables(rule...); err != nil {
			return fmt.Errorf("iptables %q: %w: %s", rule, err, out)
		}
	}
	n.isolated = change == "--append"
	return nil
}

func (c *Cluster) endPartitions() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.Heal())
	}
	return errors.Join(errs...)
}

func iptables(args ...string) (output []byte, err error) {
	return exec.Command(sbin+"iptables", append([]string{"--wait"}, args...)...).CombinedOutput() //nolint:noctx // it returns at once
}
