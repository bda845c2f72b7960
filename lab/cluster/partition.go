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
	if _, err := iptables("--list", "OUTPUT", "--numeric"); os.Geteuid() != 0 || err != nil {
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
	for _, rule := range n.rules() {
		if out, err := iptables(change, rule...); err != nil {
			return fmt.Errorf("iptables %s %q: %w: %s", change, rule, err, out)
		}
	}
	n.isolated = change == "--append"
	return nil
}

// rules drop what the node sends, and what it receives.
func (n *Node) rules() [2][]string {
	group := strconv.FormatUint(uint64(n.gid), 10)
	return [2][]string{
		{"OUTPUT", "--match", "owner", "--gid-owner", group, "!", "--destination", n.addr, "--jump", "DROP"},
		{"OUTPUT", "--destination", n.addr, "--match", "owner", "!", "--gid-owner", group, "--jump", "DROP"},
	}
}

func (c *Cluster) endPartitions() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.Heal())
	}
	return errors.Join(errs...)
}

// endOldPartitions removes the rules of a cluster that had this subnet and was killed.
func (c *Cluster) endOldPartitions() {
	for _, n := range c.nodes {
		for _, rule := range n.rules() {
			_, _ = iptables("--delete", rule...) // mostly there is none
		}
	}
}

func iptables(command string, args ...string) (output []byte, err error) {
	return exec.Command(sbin+"iptables", append([]string{"--wait", command}, args...)...).CombinedOutput() //nolint:noctx // it returns at once
}
