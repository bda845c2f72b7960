package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

// shift is an operator's terminal, with the owner's connection to the database.
type shift struct {
	environ []string
	owner   *pgx.Conn
}

func newShift(t *testing.T, statements ...string) shift {
	t.Helper()
	return newShiftOn(t, pgtest.New(t), statements...)
}

func newShiftOn(t *testing.T, url string, statements ...string) shift {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	s := shift{[]string{"ORDERS_DATABASE_URL=" + pgtest.AsOperator(t, url)}, conn}
	s.execute(t, statements...)
	return s
}

func (s shift) execute(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := s.owner.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// read returns the rows of a query with one column.
func (s shift) read(t *testing.T, query string) []string {
	t.Helper()
	rows, _ := s.owner.Query(t.Context(), query)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantAudited compares the audit log with "actor action resource login".
func (s shift) wantAudited(t *testing.T, want ...string) {
	t.Helper()
	got := s.read(t, "SELECT concat_ws(' ', actor, action, resource, metadata->>'database_role') FROM audit_log ORDER BY id")
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
}

// wantRefused checks that a command fails with one line, and prints nothing else.
func (s shift) wantRefused(t *testing.T, code int, args, problem string) {
	t.Helper()
	if got := executed(t, args, s.environ); got != (outcome{code, "", "orders: " + problem + "\n"}) {
		t.Errorf("orders %s: %+v, want %q", args, got, problem)
	}
}

func TestJobs_ListsShowsAndChangesThem(t *testing.T) {
	t.Parallel()
	s := newShift(t, `INSERT INTO river.river_job (id, kind, args, state, attempt, max_attempts, queue, scheduled_at, finalized_at, errors, attempted_at) VALUES
		(1, 'reconcile', '{}', 'completed', 1, 2, 'default', 'epoch', now(), NULL, now()),
		(2, 'clean_outbox', '{}', 'discarded', 2, 2, 'default', 'epoch', now(), ARRAY['{"error": "no disk"}'::jsonb], now()),
		(3, 'settle_payment', '{"id": 7}', 'retryable', 4, 32000, 'payments', 'epoch', NULL, ARRAY['{"error": "no answer"}'::jsonb], now()),
		(4, 'reconcile', '{}', 'running', 1, 2, 'default', 'epoch', NULL, NULL, now())`,
		`INSERT INTO river.river_job (id, kind, args, state, attempt, max_attempts, queue, scheduled_at, finalized_at, errors, attempted_at)
		 SELECT 100 + n, 'reconcile', '{}', 'discarded', 2, 2, 'default', 'epoch', now(),
		        ARRAY[jsonb_build_object('at', '2026-11-25T12:00:00.5Z', 'attempt', 1, 'error', 'first'),
		              jsonb_build_object('at', '2026-11-25T12:01:00.5Z', 'attempt', 2, 'error', repeat('step: ', 30) || 'no route to the provider')], now()
		 FROM generate_series(1, 150) n`)

	listed := executed(t, "jobs list", s.environ)
	want := `250 reconcile {} discarded x150 2 1970-01-01 00:00:00 ` + strings.Repeat("step: ", 30) + `no route to the provider
4 reconcile {} running 1 1970-01-01 00:00:00
3 settle_payment {"id": 7} retryable 4 1970-01-01 00:00:00 no answer
2 clean_outbox {} discarded 2 1970-01-01 00:00:00 no disk`
	if got := strings.Join(words(listed.out), "\n"); got != want {
		t.Errorf("%+v\ngot\n%s\nwant\n%s", listed, got, want)
	}
	shown := regexp.MustCompile(` +`).ReplaceAllString(executed(t, "jobs show 3 101", s.environ).out, " ")
	for _, line := range []string{`args {"id":7}`, "attempt 1 2026-11-25T12:00:00 first", "attempt 2 2026-11-25T12:01:00 " + strings.Repeat("step: ", 30) + "no route to the provider"} {
		if !strings.Contains(shown, "\n"+line+"\n") {
			t.Errorf("it shows\n%s\nand not %s", shown, line)
		}
	}
	s.wantRefused(t, 1, "jobs show 999999999", `show "999999999": there is no such job`)
	s.wantRefused(t, 1, "jobs retry 2", "-actor must be your name, for the audit log, and precede the IDs")
	s.wantRefused(t, 1, "jobs retry -actor ann two", `retry "two": an ID is an integer; list prints them`)
	for _, args := range []string{"jobs retry -actor ann 4", "jobs discard -actor ann 2", "jobs discard -actor ann 4", "jobs retry -actor ann 99"} {
		verb, id := strings.Fields(args)[1], args[len(args)-2:]
		s.wantRefused(t, 1, args, verb+` "`+strings.TrimSpace(id)+`": there is no such job, or it runs, or has ended, or another does the same`)
	}
	s.wantAudited(t)
	for _, args := range []string{"jobs retry -actor ann 2 3", "jobs discard -actor ann 3"} {
		if got := executed(t, args, s.environ); got != (outcome{}) {
			t.Errorf("orders %s: %+v", args, got)
		}
	}
	states := s.read(t, "SELECT concat_ws(' ', id, state, max_attempts, finalized_at IS NULL) FROM river.river_job WHERE id IN (2, 3) ORDER BY id")
	if diff := cmp.Diff([]string{"2 available 3 t", "3 cancelled 32000 f"}, states); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	s.wantAudited(t, "ann RetryJob job/2 orders_oncall", "ann RetryJob job/3 orders_oncall", "ann DiscardJob job/3 orders_oncall")
}

// Ctrl-C ends the command, and neither cancels its COMMIT nor shows it to others before
// the standby has it.
func TestJobs_InterruptedCommitIsNotCancelled(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	s := newShiftOn(t, servers.PrimaryURL(), `INSERT INTO river.river_job (id, kind, args, state, max_attempts) VALUES (1, 'reconcile', '{}', 'available', 2)`)
	servers.SetSynchronous(t, true)
	servers.StopStandby()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, strings.Fields("jobs discard -actor ann 1"), s.environ, io.Discard) }()
	waiting := servers.AwaitCommit(t)

	interrupt()

	if err := <-ended; !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Errorf("err = %v, want that the outcome is unknown", err)
	}
	const states = "SELECT state::text FROM river.river_job"
	if diff := cmp.Diff([]string{"available"}, s.read(t, states)); diff != "" {
		t.Errorf("the job (-want +got):\n%s", diff)
	}
	s.wantAudited(t)
	if pid := servers.AwaitCommit(t); pid != waiting {
		t.Errorf("process %d waits for the standby, want %d", pid, waiting)
	}
	servers.StartStandby(t)
	testwait.Until(t, "the job is discarded", func() bool { return slices.Equal(s.read(t, states), []string{"cancelled"}) })
	s.wantAudited(t, "ann DiscardJob job/1 orders_oncall")
}

// words returns the lines of a table without the spaces that align it.
func words(table string) []string {
	return strings.Split(strings.TrimSpace(regexp.MustCompile(` +(\n|\z)?`).ReplaceAllString(table, " $1")), " \n")
}

func TestJobs_RefusesARetryBesideTheSameWork(t *testing.T) {
	t.Parallel()
	s := newShift(t, `INSERT INTO river.river_job (id, kind, args, state, max_attempts, finalized_at, unique_key, unique_states) VALUES
		(1, 'settle_payment', '{}', 'discarded', 2, now(), 'k', B'11110001'), (2, 'settle_payment', '{}', 'available', 2, NULL, 'k', B'11110001')`)
	s.wantRefused(t, 1, "jobs retry -actor ann 1", `retry "1": there is no such job, or it runs, or has ended, or another does the same`)
	s.wantAudited(t)
}

func TestReconcile_TellsByItsExitCode(t *testing.T) {
	t.Parallel()
	s := newShift(t)
	if got, want := executed(t, "jobs list", s.environ), (outcome{out: "none\n"}); got != want {
		t.Errorf("without a job: %+v", got)
	}
	if got, want := executed(t, "reconcile", s.environ), (outcome{out: "everything agrees\n"}); got != want {
		t.Errorf("without a mismatch: %+v", got)
	}
	s.execute(t, "INSERT INTO balance (customer_id, currency, amount) VALUES ('ann', 'RUB', 5)",
		`INSERT INTO product (sku, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at)
		 VALUES ('tea', 'shop', 'Tea', 1, 'RUB', 10, 3, now(), now())`)
	want := outcome{1, "product/tea  3 reserved, and its reservations make 0\n" +
		"balance/ann  5.0000 RUB, and its entries make 0\n", "orders: 2 mismatches\n"}
	if got := executed(t, "reconcile", s.environ); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	s.wantRefused(t, 1, "jobs", "usage: list, or show|retry|discard with IDs; a change needs -actor NAME")
	s.environ = []string{"ORDERS_DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}
	if got := executed(t, "reconcile", s.environ); got.code != 2 || !strings.HasPrefix(got.problems, "orders: not everything was compared: ") {
		t.Errorf("without a database: %+v", got)
	}
}

// cardPayments inserts card payments of three ages, with a refund of today for the oldest.
const cardPayments = `INSERT INTO orders (id, customer_id, seller_id, status, total, currency, version, created_by, idempotency_key, created_at, updated_at)
		OVERRIDING SYSTEM VALUE SELECT n, 'ann', 'shop', 'delivered', 5, 'RUB', 1, 'ann', 'key-' || n, now(), now() FROM generate_series(1, 4) n;
	INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, provider, external_payment_id, card_token, created_at)
		OVERRIDING SYSTEM VALUE SELECT n, n, 'key', 5, 'RUB', 'card', 'captured', 'ann', 'stripe', 'pi_' || n, 'pm_card', now() - age::interval
		FROM unnest('{1 minute,1 hour,10 days,20 days}'::text[]) WITH ORDINALITY a (age, n);
	INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, payment_id, created_at)
		OVERRIDING SYSTEM VALUE SELECT n, 'payment', 'provider', 'seller/shop', 5, 'RUB', n, now() FROM generate_series(1, 4) n;
	INSERT INTO refund (id, payment_id, order_id, amount, currency, status, full_refund, created_by, created_at)
		OVERRIDING SYSTEM VALUE VALUES (1, 4, 4, 5, 'RUB', 'succeeded', true, 'ann', now() - interval '1 hour');
	INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, refund_id, created_at)
		OVERRIDING SYSTEM VALUE VALUES (9, 'refund', 'seller/shop', 'provider', 5, 'RUB', 1, now())`

func TestReconcile_SaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	s := newShift(t, cardPayments)
	got := executed(t, "reconcile", s.environ)
	want := outcome{2, "not compared with the card provider: 4 card payments because ORDERS_STRIPE_KEY is not set\neverything else agrees\n",
		"orders: not everything was compared: 0 mismatches among the rest\n"}
	if got != want {
		t.Errorf("without a provider: %+v, want %+v", got, want)
	}

	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object": "list", "has_more": false, "data": []}`)
	}))
	t.Cleanup(provider.Close)
	s.environ = append(s.environ, "ORDERS_STRIPE_KEY=sk_1", "ORDERS_STRIPE_URL="+provider.URL)
	got = executed(t, "reconcile", s.environ)
	want = outcome{1, "payment/2  captured here, and 0 times by the provider\npayment/4  refund 1 of 5.00 RUB here, and unknown to the provider\n" +
		"not compared with the card provider: 1 card payments that are, or were refunded, less than 15m0s ago: they may not have settled\n" +
		"not compared with the card provider: 1 card payments that are, and were last refunded, more than 72h0m0s ago\n", "orders: 2 mismatches\n"}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	provider.Close()
	if got := executed(t, "reconcile", s.environ); got.code != 2 || strings.Contains(got.out, "agree") {
		t.Errorf("without the provider's answer: %+v", got)
	}
}

// A setting that orders serve refuses is no way to ask the provider.
func TestReconcile_ChecksTheSettingsOfTheProvider(t *testing.T) {
	t.Parallel()
	s := newShift(t)
	for setting, problem := range map[string]string{
		"ORDERS_STRIPE_URL=http://provider.example": "ORDERS_STRIPE_URL must be an https URL, or http on loopback",
		"ORDERS_STRIPE_KEY_FILE=/nowhere":           "ORDERS_STRIPE_KEY_FILE must name a readable file: open /nowhere: no such file or directory",
		"ORDERS_STRIPE_KEY='sk_1'":                  "ORDERS_STRIPE_KEY must not be in quotes, which are part of the value here: write ORDERS_STRIPE_KEY=value",
		"ORDERS_DATABASE_POOLER=session":            "ORDERS_DATABASE_POOLER must be none or transaction",
	} {
		refused := shift{append(slices.Clone(s.environ), setting), s.owner}
		refused.wantRefused(t, 2, "reconcile", "not everything was compared: "+problem)
	}
	s.environ = append(s.environ, "ORDERS_STRIPE_URL=http://provider.example")
	if got, want := executed(t, "jobs list", s.environ), (outcome{out: "none\n"}); got != want {
		t.Errorf("a command that does not use the setting: %+v", got)
	}
}

func TestDeadLetters_ReturnToTheConsumer(t *testing.T) {
	t.Parallel()
	s, broker := newShift(t), natstest.New(t)
	s.environ = append(s.environ, "ORDERS_NATS_URL="+broker.URL())
	var known atomic.Bool
	restocked := make(chan order.Restock, 1)
	consumer, err := events.New(events.Config{
		Conn: natstest.Connect(t, broker), Log: zerolog.Nop(), Restock: func(_ context.Context, cmd order.Restock) error {
			if !known.Load() {
				return core.NotFound("product")
			}
			restocked <- cmd
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	natstest.Run(t, consumer.Run)
	js := natstest.JetStream(t, broker)
	for _, id := range []string{"1", "2"} {
		testwait.Until(t, "the message is stored", func() bool {
			_, err := js.Publish(t.Context(), events.Subject, []byte(
				`{"specversion":"1.0","id":"`+id+`","source":"/w","type":"inventory.restocked","data":{"sku":"tea","quantity":1}}`))
			return err == nil
		})
	}
	lines := func() int {
		return strings.Count(executed(t, "dead-letters list", s.environ).out, "not_found  there is no such product\n")
	}
	testwait.Until(t, "both are dead letters", func() bool { return lines() == 2 })
	if got := executed(t, "dead-letters show 1", s.environ).out; !strings.Contains(got, `\"sku\":\"tea\"`) || !strings.Contains(got, events.HeaderReason) {
		t.Errorf("it shows %s", got)
	}

	known.Store(true)
	for _, args := range []string{"dead-letters retry -actor ann 1", "dead-letters discard -actor ann 2"} {
		if got := executed(t, args, s.environ); got != (outcome{}) {
			t.Fatalf("orders %s: %+v", args, got)
		}
	}

	if cmd := <-restocked; cmd.Message.ID == "" || lines() > 0 {
		t.Errorf("%d dead letters are left after %+v", lines(), cmd)
	}
	s.wantAudited(t, "ann RetryDeadLetter deadletter/1 orders_oncall", "ann DiscardDeadLetter deadletter/2 orders_oncall")
	if got := executed(t, "dead-letters retry -actor ann 1", s.environ); got.code != 1 || !strings.Contains(got.problems, "message not found") {
		t.Errorf("a second time: %+v", got)
	}
}
