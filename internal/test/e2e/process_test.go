package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	devpostgres "example.com/orders/internal/dev/postgres"
	pgtest "example.com/orders/internal/test/pg"
)

// The tests that need real processes: these are killed, stopped and doubled. The binary
// is built once for all of them.
func TestProcesses(t *testing.T) {
	t.Parallel()
	c := command(buildOrders(t))
	t.Run("a service that is killed loses and doubles nothing", c.killTheService)
	t.Run("a database that is killed loses and doubles nothing", c.killTheDatabase)
	t.Run("a service that is stopped answers what it accepted", c.stopTheService)
	t.Run("a service that is stopped does not wait for ever", c.stopAStuckService)
	t.Run("two services do one request once", c.askTwoServices)
	t.Run("a service at rest keeps nothing of its load", c.restAfterLoad)
}

// command is the path of the binary.
type command string

// at is the process as tests talk to it.
func (w *world) at(p *process) *service { return &service{world: w, url: p.url} }

// terminate asks the process to stop, and gives what it ends with.
func (p *process) terminate() <-chan error {
	p.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.Fatal(err)
	}
	ended := make(chan error, 1)
	go p.once.Do(func() { ended <- p.cmd.Wait() })
	return ended
}

// wantEnd waits for a good end of a process that was asked to stop.
func (p *process) wantEnd(ended <-chan error, patience time.Duration) {
	p.Helper()
	select {
	case err := <-ended:
		if err != nil {
			p.Errorf("the process ended with %v", err)
		}
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		p.Errorf("the process still ran after %v", patience)
	}
}

// load is many clients that credit customers, each time with a new key, and repeat
// every request until it is answered, as AUTH-19 tells them to.
type load struct {
	*world
	client http.Client
	// url is where the service is now.
	url atomic.Pointer[string]

	answered, unsent, broken, refused, replayed atomic.Int64

	mu         sync.Mutex
	operations []operation
}

// operation is a credit that has been answered.
type operation struct {
	call     call
	customer string
	roubles  int
	first    reply
}

// newLoad makes a load. Each request has a connection of its own, so that the transport
// does not repeat anything by itself and counts are true.
func newLoad(w *world) *load {
	transport := &http.Transport{DisableKeepAlives: true}
	return &load{world: w, client: http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

func (l *load) aimAt(p *process) { l.url.Store(&p.url) }

// start lets clients work until stop is called, which waits for their last answers.
func (l *load) start(clients int) (stop func()) {
	ctx, cancel := context.WithCancel(l.Context())
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				customer, roubles := fmt.Sprintf("customer-%d", client%3), 1+i%7
				c := l.creditCall(customer, strconv.Itoa(roubles), l.newKey())
				l.finish(operation{call: c, customer: customer, roubles: roubles})
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// finish repeats an operation until it is answered, and then once more.
func (l *load) finish(op operation) {
	for deadline := time.Now().Add(time.Minute); ; {
		r, err := l.send(op.call)
		if err == nil && r.status == http.StatusCreated {
			op.first = r
			break
		}
		if err == nil && r.status != http.StatusServiceUnavailable && r.code() != "idempotency_in_progress" {
			l.Errorf("%s: status %d: %s", op.call.key, r.status, r.body)
			return
		}
		if time.Now().After(deadline) || l.Context().Err() != nil {
			l.Errorf("%s: not answered within a minute, last %d %v", op.call.key, r.status, err)
			return
		}
		time.Sleep(25 * time.Millisecond) // as clients do between tries
	}
	if again, err := l.send(op.call); err == nil && again.status == http.StatusCreated && !bytes.Equal(again.body, op.first.body) {
		l.Errorf("%s: first %s, then %s", op.call.key, op.first.body, again.body)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.operations = append(l.operations, op)
	l.answered.Add(1)
}

// send sends a request once and counts what becomes of it. Unlike that of a service, it does
// not hold the answer against the contract, which takes more of the machine than the answer.
func (l *load) send(c call) (reply, error) {
	req, err := http.NewRequestWithContext(l.Context(), c.method, *l.url.Load()+c.path, strings.NewReader(c.body))
	if err != nil {
		return reply{}, err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Idempotency-Key": {c.key}, "Content-Type": {"application/json"}}
	resp, err := l.client.Do(req)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		l.unsent.Add(1)
	case err != nil:
		l.broken.Add(1)
	case resp.StatusCode != http.StatusCreated:
		l.refused.Add(1)
	case resp.Header.Get("Idempotent-Replayed") == "true":
		l.replayed.Add(1)
	}
	if err != nil {
		return reply{}, err
	}
	return reply{resp.StatusCode, resp.Header, body}, nil
}

// awaitAnswers lets the load do n more operations.
func (l *load) awaitAnswers(t *testing.T, n int64) {
	t.Helper()
	target := l.answered.Load() + n
	eventually(t, "operations are answered", func() bool { return l.answered.Load() >= target })
}

// check compares what the clients were told with the books.
func (l *load) check(t *testing.T, s *service) {
	t.Helper()
	sums := map[string]int{}
	for _, op := range l.operations {
		sums[op.customer] += op.roubles
		again := s.send(op.call)
		if again.status != op.first.status || !bytes.Equal(again.body, op.first.body) || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: the first answer was %s, a retry gets %d %s %v", op.call.key, op.first.body, again.status, again.body, again.header)
		}
	}
	if n := l.count(`SELECT count(*) FROM ledger_entry`); n != len(l.operations) {
		t.Errorf("%d entries of %d operations", n, len(l.operations))
	}
	for customer, sum := range sums {
		if got := s.balance(customer); got != fmt.Sprintf("%d.00", sum) {
			t.Errorf("%s has %s, and was told of %d", customer, got, sum)
		}
	}
	checkLedger(t, l.db, nil)
	t.Logf("%d operations: %d requests broken off, %d refused, %d not sent, %d answers replayed",
		len(l.operations), l.broken.Load(), l.refused.Load(), l.unsent.Load(), l.replayed.Load())
}

// onDurable moves the world to a database that survives a crash.
func (w *world) onDurable(t *testing.T) *devpostgres.Server {
	t.Helper()
	server := pgtest.NewCluster(t, nil)
	w.databaseURL = pgtest.NewOn(t, server)
	w.connect()
	return server
}

// connect gives the test itself connections to the world's database.
func (w *world) connect() {
	w.Helper()
	var err error
	if w.db, err = pgxpool.New(w.Context(), w.databaseURL); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(w.db.Close)
}

func (c command) killTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onDurable(t)
	p := w.startProcess(string(c))
	l := newLoad(w)
	l.aimAt(p)
	stop := l.start(8)
	for range 3 {
		l.awaitAnswers(t, 40)
		held := w.holdBalance("customer-0")
		held.awaitWaiter() // of all the requests, one at least is under way
		before := l.broken.Load()
		p.kill()
		held.release()
		eventually(t, "the kill hit requests in flight", func() bool { return l.broken.Load() > before })
		p = w.startProcess(string(c))
		l.aimAt(p)
	}
	l.awaitAnswers(t, 20)
	stop()
	l.check(t, w.at(p))
}

func (c command) killTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.onDurable(t)
	p := w.startProcess(string(c))
	l := newLoad(w)
	l.aimAt(p)
	stop := l.start(8)
	for range 3 {
		l.awaitAnswers(t, 40)
		before := l.refused.Load()
		server.Kill()
		eventually(t, "the kill hit requests in flight", func() bool { return l.refused.Load() > before })
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.awaitAnswers(t, 20)
	stop()
	if l.broken.Load() > 0 {
		t.Errorf("%d requests had no answer: the service has to give one", l.broken.Load())
	}
	w.connect()
	l.check(t, w.at(p))
}

// holdBalance locks a customer's balance, so that credits of it wait.
func (w *world) holdBalance(customer string) lock {
	w.Helper()
	return w.hold(query{`SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, []any{customer}})
}

// stuck sends n credits of a customer whose balance is locked, and returns when all of
// them wait in the database.
func (l *load) stuck(t *testing.T, customer string, n int) <-chan reply {
	t.Helper()
	replies := make(chan reply, n)
	for range n {
		c := l.creditCall(customer, "1.00", l.newKey())
		go func() {
			r, err := l.send(c)
			if err != nil {
				l.Errorf("an accepted request got no answer: %v", err)
			}
			replies <- r
		}()
	}
	l.waitBlocked(n)
	return replies
}

func (c command) stopTheService(t *testing.T) {
	t.Parallel()
	const stuck = 2 // of the four connections there are
	w := newWorld(t)
	p := w.startProcess(string(c))
	w.at(p).credit(alice, "1.00")
	l := newLoad(w)
	l.aimAt(p)
	held := w.holdBalance(alice)
	replies := l.stuck(t, alice, stuck)
	stop := l.start(4)
	l.awaitAnswers(t, 20)

	ended := p.terminate()
	ready := call{method: "GET", path: "/health/ready"}
	eventually(t, "not ready", func() bool { return w.at(p).send(ready).status == http.StatusServiceUnavailable })
	// This is when a load balancer looks elsewhere; who still comes is still served.
	l.awaitAnswers(t, 10)
	stop()
	eventually(t, "nothing more is accepted", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	select {
	case err := <-ended:
		t.Fatalf("the process ended before its requests: %v", err)
	default:
	}
	held.release()
	for range stuck {
		if r := <-replies; r.status != http.StatusCreated {
			t.Errorf("an accepted request was answered %d: %s", r.status, r.body)
		}
	}
	p.wantEnd(ended, 10*time.Second)
	if l.broken.Load()+l.unsent.Load() > 0 {
		t.Errorf("%d requests were broken off, %d refused", l.broken.Load(), l.unsent.Load())
	}
	if n := w.count(`SELECT count(*) FROM ledger_entry WHERE customer_id = $1`, alice); n != 1+stuck {
		t.Errorf("%d entries, want %d", n, 1+stuck)
	}
}

func (c command) stopAStuckService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.startProcess(string(c))
	w.at(p).credit(alice, "1.00")
	l := newLoad(w)
	l.aimAt(p)
	w.holdBalance(alice)
	replies := l.stuck(t, alice, 1)
	ended := p.terminate()
	if r := <-replies; r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("a request that could not be done was answered %d %v: %s", r.status, r.header, r.body)
	}
	p.wantEnd(ended, 10*time.Second)
}

func (c command) askTwoServices(t *testing.T) {
	t.Parallel()
	const clients = 30
	w := newWorld(t)
	services := []*service{w.at(w.startProcess(string(c))), w.at(w.startProcess(string(c)))}
	services[0].credit(alice, "1.00")
	credit := services[0].creditCall(alice, "5.00", w.newKey())
	var shots []shot
	for i := range clients {
		shots = append(shots, shot{services[i%2], credit})
	}
	replies := together(t, shots...)
	created := 0
	for _, r := range replies {
		if r.status != http.StatusCreated || !bytes.Equal(r.body, replies[0].body) {
			t.Errorf("%d %s, and before %s", r.status, r.body, replies[0].body)
		}
		if r.header.Get("Idempotency-Result") == "created" {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d answers say created, want 1", created)
	}
	for _, s := range services {
		if got := s.balance(alice); got != "6.00" {
			t.Errorf("the balance is %s, want 6.00", got)
		}
	}
}

// Figures that the admin listener of a process tells.
var (
	goroutines = figure{"/debug/pprof/goroutine?debug=1", regexp.MustCompile(`goroutine profile: total ([0-9]+)`)}
	// liveHeap is in bytes, after a collection.
	liveHeap = figure{"/debug/pprof/heap?debug=1&gc=1", regexp.MustCompile(`# HeapAlloc = ([0-9]+)`)}
)

type figure struct {
	path  string
	value *regexp.Regexp
}

// figure asks the admin listener of a process.
func (w *world) figure(adminAddr string, f figure) int {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://"+adminAddr+f.path, http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	found := f.value.FindSubmatch(body)
	if found == nil {
		w.Fatalf("%s: no figure in %.200s", f.path, body)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (c command) restAfterLoad(t *testing.T) {
	t.Parallel()
	const operations = 50
	w := newWorld(t)
	adminAddr := freeAddr(t)
	p := w.startProcess(string(c), "ORDERS_ADMIN_ADDR="+adminAddr)
	l := newLoad(w)
	l.aimAt(p)
	work := func() {
		stop := l.start(8)
		l.awaitAnswers(t, operations)
		stop()
	}
	work() // what is started with the first requests stays, and jobs come and go
	base := w.figure(adminAddr, goroutines)
	for range 3 {
		work()
	}
	eventually(t, "the goroutines of the load are gone", func() bool { return w.figure(adminAddr, goroutines) < base+operations/2 })
	eventually(t, "no transaction and no lock is left", func() bool {
		return w.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle' AND backend_type = 'client backend'`) == 0 &&
			w.count(`SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND locktype = 'advisory'`) == 0
	})
	p.wantEnd(p.terminate(), 10*time.Second)
	eventually(t, "no connection is left", func() bool {
		return w.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'orders'`) == 0
	})
}
