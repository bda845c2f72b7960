package cuts_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/pg/wire"
)

// killsByDefault is how many places are drawn without -all. Each needs a process.
const killsByDefault = 1

// Nothing of the service survives. The borders of the card jobs are in the package cards,
// that of the relay is in the package process.
func TestCommand_TakesEffectOnceWhereverItsProcessIsKilled(t *testing.T) {
	t.Parallel()
	direct := e2e.StartShop(t, nil)
	k := &killer{replicas: replicas{cutter: newCutter(t, direct.Env), direct: direct}, binary: e2e.BuildOrders(t)}
	k.start(t)
	script := k.recordTwice(t, func() attempt {
		c := k.next(t)
		return attempt{run: func() string { return k.cut.Send(t, c.WithKey(k.direct.NewKey())).Verdict() }}
	})
	places := cutsOf(script)
	if !*all {
		random := rand.New(rand.NewPCG(drawnSeed(t), 0))
		random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		places = places[:killsByDefault]
	}
	for _, at := range places {
		k.killAt(t, at)
		if t.Failed() {
			t.Fatalf("killed %s", at)
		}
	}
	t.Logf("%d messages, %d kills", len(script), len(places))
}

// killer kills processes that run a command behind the proxy.
type killer struct {
	replicas
	binary  string
	process *e2e.Process
}

// start starts a process and finds the connection of its commands: its jobs have others.
func (k *killer) start(t *testing.T) {
	t.Helper()
	k.process = k.direct.StartProcess(t, k.binary,
		"ORDERS_DATABASE_URL="+e2e.WithParameter(t, k.URL(), "pool_max_conns", "1"))
	k.cut = k.direct.ServiceOf(k.process)
	l := &listener{}
	k.SetHook(l.hear)
	k.next(t).On(k.cut).MustRun(t, k.direct.NewKey())
	k.SetHook(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.messages, func(m wire.Message) bool { return strings.Contains(m.Statement, "INTO idempotency_record") })
	if i < 0 {
		t.Fatal("no connection has stored a record")
	}
	k.conn = l.messages[i].Conn
}

func (k *killer) next(t *testing.T) e2e.Command {
	t.Helper()
	return k.direct.Prepare(t, "creditBalance")
}

// killAt kills the process of one command. The next process answers the same key.
func (k *killer) killAt(t *testing.T, at cut) {
	t.Helper()
	for range maxDetours {
		c, key := k.next(t).On(k.cut), k.direct.NewKey()
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
		k.wantOneEffect(t, c.On(k.cut), key, e2e.Reply{})
		return
	}
	t.Fatalf("no command was killed %s", at)
}
