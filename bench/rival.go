package main

import (
	"context"
	"fmt"
	"slices"
)

// rival is a server that is measured beside the service: the same requests, on the same
// database, in the same rounds. It keeps running while others are measured, as the
// service does.
type rival struct {
	name   string
	peer   bool    // of bench/peers; otherwise another build of the service
	target *target // the target of the service with this server in its place
}

// runs reports whether the rival knows a command.
func (r *rival) runs(c command) bool { return !r.peer || slices.Contains(peerCommands, c.name) }

// startRivals starts the servers that the -compare and -peers flags ask for.
func (b *bench) startRivals(ctx context.Context, t *target, commands []command) error {
	if b.other != "" {
		if err := b.startOther(ctx, t); err != nil {
			return err
		}
	}
	if b.peers {
		return b.startPeers(ctx, t, commands)
	}
	return nil
}

func (b *bench) startOther(ctx context.Context, t *target) error {
	server, err := startService(ctx, b.other, t.serviceURL(), b.pool, b.issuer, b.cluster.dir)
	if err != nil {
		return fmt.Errorf("%s: %w", b.other, err)
	}
	return b.addRival(ctx, &rival{name: "other build", target: t.servedBy(server, t.tokens)})
}

// addRival makes the rival answer the requests of the retry storm once, like a new
// process of the service. It is stopped at the end of the run.
func (b *bench) addRival(ctx context.Context, r *rival) error {
	b.rivals = append(b.rivals, r)
	if err := r.target.answerStormOnce(ctx); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return nil
}

// servedBy returns the target with another server in the place of the service. Both share
// the database and the rows that requests use up.
func (t *target) servedBy(server *service, tok tokens) *target {
	other := *t
	other.service, other.tokens = server, tok
	return &other
}
