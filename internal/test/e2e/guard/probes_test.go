package guard_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	"example.com/orders/kit/guard/routetest"
	"example.com/orders/kit/guard/routetest/probe"
)

// allCommands asks about all commands, not only about two.
var allCommands = flag.Bool("all", false, "ask the probes of auth19 about every guarded command")

// commands are the guarded routes, and the probes that do not apply to them.
var commands = map[string]string{
	"createOrder": "L", "reserveInventory": "L D E", "confirmPayment": "L F", "refundPayment": "L", "cancelOrder": "L F",
	"chargeBalance": "L", "creditBalance": "L", "adjustStock": "L",
}

// Real processes of `orders serve` are killed, lose their records and let them expire.
func TestCommands_PassEveryProbe(t *testing.T) {
	t.Parallel()
	binary := e2e.BuildOrders(t)
	for route, missing := range commands {
		if !*allCommands && route != "createOrder" && route != "chargeBalance" {
			continue
		}
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c, outer := newReplicas(t, binary), t // a process that a probe starts outlives the probe
			for _, p := range probe.Probes {
				if p.Name == "R" {
					continue // each refusal has its fixture
				}
				t.Run(p.Name, func(t *testing.T) {
					ask(t, c, p, strings.Contains(missing, p.Name), func() *probe.Operation { return c.operation(outer, routes.Prepare(t, c.service(t), route)) })
				})
			}
			for reason := range routes.All[route].Refusals {
				t.Run("R "+reason, func(t *testing.T) {
					name := routes.RefusalName{Route: route, Reason: reason}
					ask(t, c, refusals, false, func() *probe.Operation { return c.refusal(outer, name) })
				})
			}
		})
	}
}

var refusals = probe.Probes[slices.IndexFunc(probe.Probes, func(p probe.Probe) bool { return p.Name == "R" })]

// ask asks one question about newly prepared commands.
func ask(t *testing.T, c *replicas, p probe.Probe, missing bool, prepare func() *probe.Operation) {
	t.Helper()
	got := p.Ask(t.Context(), &probe.Target{
		Servers: []string{c.processes[0].URL, c.processes[1].URL}, Profile: probe.AUTH19, Header: probe.AUTH19.Header,
		Seed: rand.Uint64(), Keys: 20, Crowd: 50, Timeout: time.Minute, Patience: 30 * time.Second, Settle: 250 * time.Millisecond,
		Prepare: func(context.Context, string) (*probe.Operation, error) { return prepare(), nil },
	})
	if got.Verdict == probe.NotApplicable && !missing {
		t.Error("the probe did not apply")
	}
	routetest.Report(t, got)
}

// replicas is two processes on one database.
type replicas struct {
	*e2e.Env

	binary    string
	processes [2]*e2e.Process
}

func newReplicas(t *testing.T, binary string) *replicas {
	t.Helper()
	c := &replicas{Env: e2e.NewEnv(t), binary: binary}
	for i := range c.processes {
		c.processes[i] = c.StartProcess(t, binary)
	}
	return c
}

// service is the process that no probe kills.
func (c *replicas) service(t testing.TB) *e2e.Service {
	t.Helper()
	cfg, err := config.Read(c.Environ(t))
	if err != nil {
		t.Fatal(err)
	}
	return &e2e.Service{Env: c.Env, URL: c.processes[1].URL, Config: cfg}
}

func (c *replicas) restart(t testing.TB, i int) {
	t.Helper()
	c.processes[i].Kill()
	c.processes[i] = c.StartProcess(t, c.binary, "ORDERS_ADDR="+strings.TrimPrefix(c.processes[i].URL, "http://"))
}

func bearer(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}

// operation describes a command to the probes.
func (c *replicas) operation(t testing.TB, command routes.Command) *probe.Operation {
	t.Helper()
	request := func(path, body string) probe.Request {
		return probe.Request{Method: command.Call.Method, Path: path, Body: body}
	}
	op := &probe.Operation{
		A: bearer(command.Call.Token), B: bearer(command.Peer), Do: request(command.Call.Path, command.Call.Body),
		Effects: func(context.Context) (int, error) {
			return c.Count(t, command.Effects.SQL, command.Effects.Args...), nil
		},
		HoldBefore: func(context.Context) (probe.Trap, error) {
			row := command.LockRow(t)
			return probe.Trap{Await: hook(func() { row.AwaitWaiter(t) }), Undo: hook(row.Release)}, nil
		},
		HoldAfter: c.holdCommitted(t), FailAfter: c.failRecords(t),
		Kill: hook(func() { c.processes[0].Kill() }), Start: hook(func() { c.restart(t, 0) }),
		Expire: hook(func() {
			c.Exec(t, "UPDATE idempotency_record SET expires_at = now() - interval '1 second'")
			c.restart(t, 0) // a process may remember records until they would have expired
			c.restart(t, 1)
		}),
		StoreDown: hook(func() { c.Exec(t, "ALTER TABLE idempotency_record RENAME TO idempotency_record_away") }),
		StoreUp:   hook(func() { c.Exec(t, "ALTER TABLE idempotency_record_away RENAME TO idempotency_record") }),
	}
	if command.OtherBody != "" {
		op.Others = []probe.Request{request(command.Call.Path, command.OtherBody)}
	}
	if command.OtherPath != "" {
		op.Routes = []probe.Request{request(command.OtherPath, command.Call.Body)}
	}
	return op
}

func hook(do func()) func(context.Context) error {
	return func(context.Context) error { do(); return nil }
}

// refusal describes a command that the use case refuses.
func (c *replicas) refusal(t testing.TB, name routes.RefusalName) *probe.Operation {
	t.Helper()
	r := routes.PrepareRefusal(t, c.service(t), name)
	op := c.operation(t, r.Command)
	op.Refused = new(op.Do)
	if r.Cure != nil {
		op.Remedy = hook(r.Cure)
	}
	return op
}

// failRecords lets the write of every record fail, after all other writes of the command.
func (c *replicas) failRecords(t testing.TB) func(context.Context) (probe.Trap, error) {
	return func(context.Context) (probe.Trap, error) {
		c.Exec(t, "ALTER TABLE idempotency_record ADD CONSTRAINT broken CHECK (false) NOT VALID")
		return probe.Trap{Undo: hook(func() { c.Exec(t, "ALTER TABLE idempotency_record DROP CONSTRAINT broken") })}, nil
	}
}

// holdCommitted keeps a committed command from answering: COMMIT waits in a trigger, the
// process is stopped, and the database goes on alone. A command that waits for a table
// may have sent no COMMIT yet, because the connection is still preparing statements. The
// lock timeout of a command could end the wait before a busy machine has stopped the
// process.
func (c *replicas) holdCommitted(t testing.TB) func(context.Context) (probe.Trap, error) {
	return func(ctx context.Context) (probe.Trap, error) {
		conn, err := pgx.Connect(ctx, c.DatabaseURL)
		if err != nil {
			return probe.Trap{}, err
		}
		_, err = conn.Exec(ctx, `SELECT pg_advisory_lock(0, 0); CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql
				SET lock_timeout = 0 AS 'BEGIN PERFORM pg_advisory_xact_lock(0, 0); RETURN NULL; END';
			CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON idempotency_record DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION hold()`)
		await := func(ctx context.Context) error {
			e2e.Eventually(t, "a COMMIT waits", func() bool {
				return c.Count(t, "SELECT count(*) FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid))", conn.PgConn().PID()) > 0
			})
			c.processes[0].Pause(t)
			return conn.Close(ctx)
		}
		undo := func(ctx context.Context) error {
			err := conn.Close(ctx)
			c.Exec(t, "DROP FUNCTION hold() CASCADE")
			c.processes[0].Resume()
			return err
		}
		return probe.Trap{Await: await, Undo: undo}, err
	}
}
