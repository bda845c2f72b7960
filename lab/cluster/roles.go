package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"

	devpostgres "example.com/orders/internal/dev/postgres"
)

// role is a kind of node.
type role struct {
	name string
	// count is the number of nodes.
	count int
	// template is the configuration name in deploy/cluster, "" for the service.
	template string
	// command returns a node program and its arguments.
	command func(*Node) []string
	// environ returns variables for the program.
	environ func(*Node) []string
}

// roles are in start order. The service needs HAProxy first, because it ends without a
// database at its start.
var roles = []role{
	{"etcd", 3, "etcd.yml.tmpl", func(n *Node) []string {
		return []string{n.cluster.bin["etcd"], "--config-file", n.configPath()}
	}, noVariables},
	{"postgres", 3, "patroni.yml.tmpl", func(n *Node) []string {
		return []string{n.cluster.bin["patroni"], n.configPath()}
	}, noVariables},
	{"pgbouncer", 3, "pgbouncer.ini.tmpl", func(n *Node) []string {
		return []string{"/usr/bin/sh", "-c", restarted, n.cluster.bin["pgbouncer"], n.configPath()}
	}, noVariables},
	{"nats", 3, "nats.conf.tmpl", func(n *Node) []string {
		return []string{n.cluster.bin["nats"], "--config", n.configPath()}
	}, noVariables},
	{"haproxy", 1, "haproxy.cfg.tmpl", func(n *Node) []string {
		return []string{n.cluster.bin["haproxy"], "-db", "-f", n.configPath()}
	}, noVariables},
	{"orders", 3, "", func(n *Node) []string { return []string{n.binary, "serve"} }, settings},
}

// restarted runs a program again when it ends, as a supervisor does. Version 1.18 of pgbouncer
// ends when a server answers after a cancelled query (issue 822 of pgbouncer).
const restarted = `until setpriv --pdeathsig TERM "$0" "$1"; do sleep 0.1; done`

func noVariables(*Node) []string { return nil }

// settings returns the settings of a service replica. The last replica reaches the database
// through HAProxy, the rest by the list of all servers, so that both are tried.
func settings(n *Node) []string {
	c := n.cluster
	hosts, parameters := c.hosts("pgbouncer", "6432"), "&target_session_attrs=read-write"
	if n.number == n.role.count {
		hosts, parameters = net.JoinHostPort(c.Node("haproxy").addr, "5432"), ""
	}
	return slices.Concat([]string{
		"ORDERS_ADDR=" + net.JoinHostPort(n.addr, "8080"),
		"ORDERS_ADMIN_ADDR=" + net.JoinHostPort(n.addr, "9090"),
		"ORDERS_DATABASE_URL=postgres://" + serviceRole + "@" + hosts + "/" + database + "?sslmode=disable" + parameters,
		"ORDERS_DATABASE_POOLER=transaction",
		"ORDERS_DRAIN_DELAY=2s", // HAProxy checks twice a second and reacts to the second failure
		"ORDERS_NATS_URL=" + c.BrokerURL(),
		"ORDERS_NATS_REPLICAS=3",
	}, c.cfg.Settings)
}

// sbin is the Debian folder for servers. It is not in every PATH.
const sbin = "/usr/sbin/"

// findPrograms returns the paths to the nodes' programs by role, and to the folder with
// the PostgreSQL programs.
func findPrograms(ctx context.Context, cfg Config) (bin map[string]string, err error) {
	folder, err := devpostgres.Programs(ctx, cfg.Notices)
	if err != nil {
		return nil, err
	}
	bin = map[string]string{"postgres": folder, "nats": cfg.Nats}
	var missing []error
	for _, name := range []string{"etcd", "patroni", "pgbouncer", "haproxy"} {
		path, err := exec.LookPath(name)
		if err != nil {
			path, err = exec.LookPath(sbin + name)
		}
		bin[name] = path
		missing = append(missing, err)
	}
	if err := errors.Join(missing...); err != nil {
		return nil, fmt.Errorf("%w\ninstall them: lab/need cluster, or sudo apt-get install etcd-server patroni pgbouncer haproxy", err)
	}
	return bin, nil
}
