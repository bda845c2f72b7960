package cuts_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/pg/wire"
)

// Nothing of the service survives.
func TestCommand_TakesEffectOnceWhereverItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	for _, route := range draw(t, 1, []string{"creditBalance", "confirmPayment"}) {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			killEverywhere(t, route)
		})
	}
}

// killEverywhere kills a process at each message of a command, or at one of them without
// -all.
func killEverywhere(t *testing.T, route string) {
	t.Helper()
	direct := startQuiet(t, e2e.NewEnv(t))
	direct.StockUp(t, nil)
	k := &killer{replicas: replicas{cutter: newCutter(t, direct.Env), direct: direct}, route: route, binary: e2e.BuildOrders(t)}
	k.start(t)
	script := k.recordTwice(t, func() attempt {
		c := k.next(t)
		return attempt{run: func() string { return k.cut.Send(t, c.WithKey(k.direct.NewKey())).Verdict() }}
	})
	places := draw(t, 1, cutsOf(script))
	for _, at := range places {
		k.killAt(t, at)
		if t.Failed() {
			return
		}
	}
	t.Logf("%s: %d messages, %d kills", route, len(script), len(places))
}

// killer kills processes that run a command behind the proxy.
type killer struct {
	replicas
	route, binary string
	process       *e2e.Process
}

// start starts a process and finds the connection of its commands: its jobs have others.
func (k *killer) start(t *testing.T) {
	t.Helper()
	k.process = k.direct.StartProcess(t, k.binary,
		"ORDERS_DATABASE_URL="+e2e.WithParameter(t, k.URL(), "pool_max_conns", "1"))
	k.cut = k.direct.ServiceOf(k.process)
	l := &listener{}
	k.SetHook(l.hear)
	k.next(t).MustRun(t, k.direct.NewKey())
	k.SetHook(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.messages, func(m wire.Message) bool { return strings.Contains(m.Statement, "INTO idempotency_record") })
	if i < 0 {
		t.Fatal("no connection has stored a record")
	}
	k.conn = l.messages[i].Conn
}

func (k *killer) next(t *testing.T) command {
	t.Helper()
	c := effective(k.direct.Prepare(t, k.route))
	c.Command = c.On(k.cut)
	return c
}

// killAt kills the process of one command. The next process answers the same key.
func (k *killer) killAt(t *testing.T, at cut) {
	t.Helper()
	defer logFailed(t, at)
	for range maxDetours {
		c, key := k.next(t), k.direct.NewKey()
		killed := false
		l := &listener{conn: k.conn, at: &at, kill: func() { killed = true; k.process.Kill() }}
		k.SetHook(l.hear)
		_, err := k.cut.Try(t.Context(), t, c.WithKey(key))
		k.SetHook(nil)
		l.mu.Lock() // of the hook, which may still be killing
		took := killed
		l.mu.Unlock()
		if !took {
			continue // it took another course
		}
		if err == nil {
			t.Error("the killed process has answered")
		}
		k.wantKnown(t, c, key, at.passed() > at.sendsCommit())
		k.start(t)
		c.Command = c.On(k.cut)
		k.wantDecidedOnce(t, c, key, e2e.Reply{})
		return
	}
	t.Fatalf("no command was killed %s", at)
}
