package nodes

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/lab/cluster"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var (
	seed         = flag.Uint64("seed", uint64(time.Now().UnixNano()), "the seed; default another one each time")
	onCluster    = flag.Bool("cluster", false, "break the nodes of a cluster")
	strikes      = flag.String("strikes", "", "the only strikes on the cluster, as a failed run prints them")
	pairs        = flag.Int("pairs", 12, "how many pairs of nodes of the cluster are broken together")
	failovers    = flag.Int("failovers", 0, "kill only the primary of the cluster, so often")
	upgradeFrom  = flag.String("upgrade", "", "upgrade the cluster from this commit, which must know its settings")
	asynchronous = flag.Bool("asynchronous", false, "let COMMIT wait for no standby: the run must fail")
)

// TestCluster breaks the nodes of a cluster, and prints what clients saw.
func TestCluster(t *testing.T) {
	if !*onCluster {
		t.Skip("no cluster was asked for")
	}
	p := clusterPlan(t)
	p.Asynchronous = *asynchronous
	if err := cluster.CanPartition(); err != nil {
		t.Logf("NOT CHECKED: the strikes that cut nodes off: %v", err)
		p = p.Without(cut)
	}
	p.Run(t)
}

// clusterPlan returns the plan that the flags ask for.
func clusterPlan(t *testing.T) Plan {
	t.Helper()
	switch {
	case *strikes != "":
		only, err := ParseStrikes(*strikes)
		if err != nil {
			t.Fatal(err)
		}
		return Plan{Seed: *seed, Strikes: only}
	case *failovers > 0:
		return Failovers(*seed, *failovers)
	}
	return EveryNode(*seed, *pairs)
}

func TestEveryNode_BreaksEachTargetInEachWayAndPairs(t *testing.T) {
	t.Parallel()
	const pairs = 20
	p := EveryNode(7, pairs)
	for _, target := range targets {
		for _, way := range ways {
			alone := Strike{{way, target.name}}
			if !slices.ContainsFunc(p.Strikes, func(s Strike) bool { return slices.Equal(s, alone) }) {
				t.Errorf("no strike %q", alone)
			}
		}
	}
	n := 0
	for _, s := range p.Strikes {
		if len(s) == 2 && s[0].Target != s[1].Target {
			n++
		}
	}
	if n != pairs {
		t.Errorf("%d pairs of different nodes, want %d", n, pairs)
	}
	if p.String() != EveryNode(7, pairs).String() {
		t.Error("the same seed draws two plans")
	}
}

func TestParseStrikes_ReadsWhatAPlanPrints(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{EveryNode(7, 20), Failovers(7, 2)} {
		var text string
		for i, s := range p.Strikes {
			if i > 0 {
				text += ", "
			}
			text += s.String()
		}
		got, err := ParseStrikes(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p.Strikes, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, text := range []string{"", "kill", "kill everything", "drown primary", "kill-in-commit orders1", "kill primary +"} {
		if got, err := ParseStrikes(text); err == nil {
			t.Errorf("%q is read as %q, want an error", text, got)
		}
	}
}

func TestStrike_KnowsWhetherAnotherNodeTakesOver(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"kill primary":                          true,
		"kill primary + stop etcd leader":       true,
		"kill primary + kill standby":           false,
		"kill etcd leader + kill etcd follower": false,
		"kill haproxy":                          false,
		"kill orders1 + kill orders2":           false,
	} {
		all, err := ParseStrikes(text)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := targetNamed(all[0][0].Target)
		if got := all[0].isMoved(first); got != want {
			t.Errorf("%s: another node becomes %s: %t, want %t", all[0], first.name, got, want)
		}
	}
}

func TestEffectsOf_MeasuresWhatClientsSaw(t *testing.T) {
	t.Parallel()
	const second = time.Second
	created := func(replica int, end time.Duration) history.Attempt {
		return history.Attempt{
			Replica: replica, Operation: "createOrder", Start: end - second/2, End: end, Outcome: history.OK, Result: "created",
		}
	}
	replay, lost := created(world.Front, 14*second), created(world.Front, 12*second)
	replay.Result = "reused"
	lost.Outcome, lost.Result = history.Unknown, ""
	attempts := []history.Attempt{
		created(world.Front, 2*second), created(world.Front, 9*second), lost, created(1, 13*second), replay, created(world.Front, 21*second), created(world.Front, 90*second),
	}
	finished := []clients.Span{{From: 8 * second, To: 9 * second}, {From: 9 * second, To: 41 * second}, {From: 40 * second, To: 80 * second}}
	s := Strike{{kill, "primary"}}

	got := effectsOf([]window{{s, 10 * second, 20 * second}}, attempts, finished)

	want := []Effect{{Strike: s, Pause: 12 * second, Attempts: 2, Unanswered: 1, Commands: 1, Late: 1, Slowest: 32 * second}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRollingUpgrade upgrades a cluster while clients work.
func TestRollingUpgrade(t *testing.T) {
	if *upgradeFrom == "" {
		t.Skip("no upgrade was asked for")
	}
	Upgrade(t, *seed, *upgradeFrom)
}
