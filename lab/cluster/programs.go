package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	devpostgres "example.com/orders/internal/dev/postgres"
)

// programs are paths to the nodes' programs.
type programs struct {
	postgres                                string // the folder with PostgreSQL's programs
	etcd, patroni, pgbouncer, haproxy, nats string
}

// sbin is Debian's folder for servers. It is not in every PATH.
const sbin = "/usr/sbin/"

func findPrograms(ctx context.Context, cfg Config) (bin programs, err error) {
	if bin.postgres, err = devpostgres.Programs(ctx, cfg.Notices); err != nil {
		return programs{}, err
	}
	bin.nats = cfg.Nats
	var missing []error
	for name, path := range map[string]*string{
		"etcd": &bin.etcd, "patroni": &bin.patroni, "pgbouncer": &bin.pgbouncer, "haproxy": &bin.haproxy,
	} {
		if *path, err = find(name); err != nil {
			missing = append(missing, err)
		}
	}
	if err := errors.Join(missing...); err != nil {
		return programs{}, fmt.Errorf("%w\ninstall them: make need-cluster, or sudo apt-get install etcd-server patroni pgbouncer haproxy", err)
	}
	return bin, nil
}

func find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	if _, err := os.Stat(sbin + program); err == nil {
		return sbin + program, nil
	}
	return "", fmt.Errorf("%s is not installed", program)
}
