package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
)

// The peers are programs in Node.js that do some commands as most services do: find the
// key, run the command, save the response.
//
//go:embed peers/*.js peers/*.json
var peerFiles embed.FS

// peerNames are the web frameworks of the peers, as in the file names.
var peerNames = []string{"express", "fastify"}

// peerCommands are the names of the commands that the peers know.
var peerCommands = []string{"CreditBalance", "CreateOrder", "Replay"}

// startPeers installs and starts the peers, and checks that they do the same work as the
// service. Without Node.js it leaves them out.
func (b *bench) startPeers(ctx context.Context, t *target, commands []command) error {
	version, err := exec.CommandContext(ctx, "node", "--version").Output()
	if _, noNPM := exec.LookPath("npm"); err != nil || noNPM != nil {
		b.progress("the peers are left out: %v", errors.Join(err, noNPM))
		return nil
	}
	b.node = strings.TrimSpace(string(version))
	dir := filepath.Join(b.cluster.dir, "peers")
	if err := installPeers(ctx, dir); err != nil {
		return err
	}
	for _, name := range peerNames {
		peer, err := b.startPeer(ctx, t, dir, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := b.checkPeer(ctx, t, peer, commands); err != nil {
			return err
		}
	}
	return nil
}

// installPeers copies the peers to a directory and installs their packages there.
func installPeers(ctx context.Context, dir string) error {
	files, err := fs.Sub(peerFiles, "peers")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install the peers: %w: %s", err, out)
	}
	return nil
}

// startPeer starts a peer with one process per core, as Node.js is usually deployed. Its
// processes share a pool of the size of the service's.
func (b *bench) startPeer(
	ctx context.Context, t *target, dir, name string,
) (*rival, error) {
	server, err := newService(ctx, b.cluster.dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", "cluster.js")
	cmd.Dir = dir
	err = server.start(ctx, cmd, []string{
		"NODE_ENV=production", "FRAMEWORK=" + name, "ADDR=" + server.addr,
		"PROCESSES=" + strconv.Itoa(runtime.NumCPU()),
		"DATABASE_URL=" + t.serviceURL(), "POOL=" + strconv.Itoa(max(b.pool/runtime.NumCPU(), 1)),
		"JWKS_URL=" + b.issuer.jwksURL,
		"JWT_ISSUER=" + devissuer.Name, "JWT_AUDIENCE=" + devissuer.Audience,
	})
	if err != nil {
		return nil, err
	}
	// A subject of its own, so that its keys are not those of the service.
	own := t.tokens
	if own.bank, err = b.issuer.Token(name, []string{"system"}, 24*time.Hour); err != nil {
		return nil, errors.Join(err, server.stop())
	}
	peer := &rival{name: name, peer: true, target: t.servedBy(server, own)}
	return peer, b.addRival(ctx, peer)
}

// checkPeer returns an error unless the peer leaves the same rows as the service.
func (b *bench) checkPeer(ctx context.Context, t *target, peer *rival, commands []command) error {
	for _, c := range commands {
		if !peer.runs(c) {
			continue
		}
		if err := c.sameRowsOf(ctx, t, peer.target); err != nil {
			return fmt.Errorf("%s: %s: %w", peer.name, c.name, err)
		}
		b.progress("%s: %s writes the same rows as the service", c.name, peer.name)
	}
	return nil
}

// sameRowsOf sends the same number of requests to the service and to a peer. It returns
// an error if they leave different rows.
func (c command) sameRowsOf(ctx context.Context, t, peer *target) error {
	sizes := make([]map[string]tableSize, 3)
	var err error
	if sizes[0], err = t.tableSizes(ctx); err != nil {
		return err
	}
	for i, side := range []*target{t, peer} {
		err := c.load(side, 1).send(ctx, probeRequests, func() error { return nil })
		if err != nil {
			return err
		}
		if sizes[i+1], err = t.tableSizes(ctx); err != nil {
			return err
		}
	}
	return sameRows(sizes[0], sizes[1], sizes[2])
}
