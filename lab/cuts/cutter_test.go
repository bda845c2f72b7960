// Package cuts_test cuts the connection to PostgreSQL at every message of a command, a
// replay, a look-up or a job: before it, and after it, in both directions. Whatever is
// lost, a retry must find one effect. Without -all, it draws what is cut, and where.
//
// The conversation is recorded first, so that the number of cuts grows when a command
// gains a message. It is stable, because the replica behind the proxy has one connection
// with all statements prepared. A cut between two messages of the same side is made once:
// after the first and before the second is the same for both sides.
package cuts_test

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/pg/wire"
)

var (
	all  = flag.Bool("all", false, "cut everything at every message, not only some")
	seed = flag.Uint64("seed", 0, "draws what is cut without -all; 0 draws a seed")
)

// draw returns at most n of the values, or all of them with -all.
func draw[T any](t *testing.T, n int, values []T) []T {
	t.Helper()
	if *all {
		return values
	}
	drawn := slices.Clone(values)
	random := rand.New(rand.NewPCG(drawnSeed(t), 0))
	random.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn[:min(n, len(drawn))]
}

// drawnSeed returns the seed of this run.
func drawnSeed(t *testing.T) uint64 {
	t.Helper()
	value := cmp.Or(*seed, randomSeed)
	t.Logf("seed %d", value)
	return value
}

var randomSeed = rand.Uint64()

// attempt is one execution of what is cut, prepared.
type attempt struct {
	// run does the work and returns what the caller learned.
	run func() string
	// resolve checks what was learned, and does what a caller does who learned too little.
	// It checks that the work was done once.
	resolve func(c cut, learned string)
}

// cutter cuts the connections of one proxy.
type cutter struct {
	*wire.Proxy
	// foldRows counts the rows of one answer as one message, for work that reads all that
	// earlier attempts have left.
	foldRows bool
	// conn is the number of the only connection that counts; zero for all.
	conn int
}

// newCutter starts a proxy to the database of an environment.
func newCutter(t *testing.T, env *e2e.Env) *cutter {
	t.Helper()
	proxy, err := wire.Start(env.ServiceURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return &cutter{Proxy: proxy}
}

// cut is a place in a conversation.
type cut struct {
	script []wire.Message
	// at is the index of the message at which the connection is cut.
	at      int
	verdict wire.Verdict
}

func (c cut) String() string {
	where := "before"
	if c.verdict == wire.CutAfter {
		where = "after"
	}
	return where + " " + c.script[c.at].String()
}

// passed returns the number of messages that were forwarded.
func (c cut) passed() int {
	if c.verdict == wire.CutAfter {
		return c.at + 1
	}
	return c.at
}

// cutsOf returns the places where a conversation can be cut.
func cutsOf(script []wire.Message) []cut {
	var cuts []cut
	for i := range script {
		cuts = append(cuts, cut{script, i, wire.CutBefore})
		if i+1 == len(script) || script[i+1].From != script[i].From {
			cuts = append(cuts, cut{script, i, wire.CutAfter})
		}
	}
	return cuts
}

// placesByDefault is at how many places a conversation is cut without -all.
const placesByDefault = 30

// cutEverywhere cuts the conversation of an attempt at each place, in an attempt of its
// own.
func (c *cutter) cutEverywhere(t *testing.T, prepare func() attempt) {
	t.Helper()
	script := c.recordTwice(t, prepare)
	cuts := draw(t, placesByDefault, cutsOf(script))
	for _, at := range cuts {
		c.cutAt(t, at, prepare)
		if t.Failed() {
			return
		}
	}
	if c.Cuts() != len(cuts) || len(cuts) == 0 {
		t.Errorf("the proxy made %d cuts, want %d", c.Cuts(), len(cuts))
	}
	t.Logf("%d messages, %d cuts", len(script), len(cuts))
}

// recordTwice returns the conversation of attempts that are not cut: the first one that
// two attempts in turn have in common.
func (c *cutter) recordTwice(t *testing.T, prepare func() attempt) []wire.Message {
	t.Helper()
	var diff string
	script := c.record(t, prepare())
	for range maxDetours {
		next := c.record(t, prepare())
		if diff = gocmp.Diff(texts(script), texts(next)); diff == "" {
			return script
		}
		script = next
	}
	t.Fatalf("no two attempts have the same conversation:\n%s", diff)
	return nil
}

// record returns the conversation of an attempt that is not cut.
func (c *cutter) record(t *testing.T, a attempt) []wire.Message {
	t.Helper()
	l := &listener{foldRows: c.foldRows, conn: c.conn}
	c.SetHook(l.hear)
	a.run()
	if c.conn == 0 {
		c.awaitIdle(t)
	}
	c.SetHook(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.messages
}

func (c *cutter) awaitIdle(t *testing.T) {
	t.Helper()
	e2e.Eventually(t, "the replica is idle", c.Idle)
}

// maxDetours bounds how often an attempt may take another course than the recorded one,
// to draw ids or to check an idle connection.
const maxDetours = 5

// cutAt cuts one attempt. One that takes another course is not cut, and repeated.
func (c *cutter) cutAt(t *testing.T, at cut, prepare func() attempt) {
	t.Helper()
	defer logFailed(t, at)
	var l *listener
	for range maxDetours {
		a := prepare()
		l = &listener{foldRows: c.foldRows, at: &at}
		before := c.Cuts()
		c.SetHook(l.hear)
		learned := a.run()
		if c.Cuts() == before {
			c.awaitIdle(t) // the end of the conversation may not have passed
		}
		c.SetHook(nil)
		if c.Cuts() > before {
			a.resolve(at, learned)
			return
		}
	}
	t.Fatalf("cut %s: the attempt took another course:\n%s", at, gocmp.Diff(texts(at.script), texts(l.messages)))
}

// logFailed logs the place at which a test has failed.
func logFailed(t *testing.T, at cut) {
	t.Helper()
	if t.Failed() {
		t.Logf("cut %s", at)
	}
}

// listener records a conversation, and cuts it.
type listener struct {
	mu       sync.Mutex
	foldRows bool
	conn     int // to listen to; zero for all
	messages []wire.Message
	at       *cut
	kill     func() // is called before the cut, if it is not nil
}

// ping is what the pool asks a connection that was idle for more than a second. On a slow
// machine some conversations begin with it.
const ping = "-- ping"

// hear cuts at the place, if all was as recorded until then.
func (l *listener) hear(m wire.Message) wire.Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != 0 && m.Conn != l.conn || m.Statement == ping {
		return wire.Forward
	}
	if l.foldRows {
		m.Tag = "" // has the number of rows
		if last := len(l.messages) - 1; m.Kind == "DataRow" && last >= 0 && same(l.messages[last], m) {
			return wire.Forward
		}
	}
	l.messages = append(l.messages, m)
	if l.at == nil || len(l.messages) != l.at.at+1 || !slices.EqualFunc(l.messages, l.at.script[:l.at.at+1], same) {
		return wire.Forward
	}
	if l.kill != nil {
		l.kill()
	}
	return l.at.verdict
}

func texts(messages []wire.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, m.String())
	}
	return all
}

func same(a, b wire.Message) bool { return a.String() == b.String() }
