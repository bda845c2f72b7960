package server

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// increment is a statement that runs outside a transaction, and that Sync would commit.
var increment = Encode(&pgproto3.Parse{Query: "UPDATE counter SET n = n + 1"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Flush{})

// newSessions returns two sessions of the owner, who has a counter.
func newSessions(t *testing.T) (o *Server, first, second *Session) {
	t.Helper()
	url := pgtest.New(t)
	o, err := Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	if _, err := o.Query("CREATE TABLE counter AS SELECT 0 AS n"); err != nil {
		t.Fatal(err)
	}
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []**Session{&first, &second} {
		if *b, _, err = o.Connect(Startup(config.User, config.Database)); err != nil {
			t.Fatal(err)
		}
	}
	return o, first, second
}

// begin sends messages, and reports whether their statement waits for a lock.
func begin(t *testing.T, o *Server, b *Session, raw []byte, ends string) (blocked bool) {
	t.Helper()
	b.Send(raw)
	blocked, err := o.Await(b, ends)
	if err != nil {
		t.Fatal(err)
	}
	if !blocked {
		b.Take()
	}
	return blocked
}

// A session that lost its client leaves no change and no lock, and serves the next client.
// One that waits for a lock does so when it has the lock.
func TestRelease_RollsBack(t *testing.T) {
	for name, raw := range map[string][]byte{
		"in a transaction":      append(Encode(&pgproto3.Query{String: "BEGIN"}), increment...),
		"outside a transaction": increment,
	} {
		t.Run(name, func(t *testing.T) {
			o, first, second := newSessions(t)
			if begin(t, o, first, raw, "C") || !begin(t, o, second, raw, "C") {
				t.Fatal("the second session does not wait for the first")
			}
			for _, b := range []*Session{second, first} { // the first has a lock that the second needs
				if len(o.Idle) > 0 {
					t.Fatal("a session that waits for a lock serves the next client")
				}
				o.Release(b, false)
				for again := true; again; {
					freed, err := o.SettleLeaving()
					if err != nil {
						t.Fatal(err)
					}
					again = freed
				}
			}
			n, err := o.Query("SELECT n FROM counter FOR UPDATE NOWAIT")
			if err != nil || n[0] != "0" || len(o.Idle) != 2 {
				t.Errorf("n = %v, %v; %d sessions serve the next client", n, err, len(o.Idle))
			}
		})
	}
}

// The error of a killed session is that of the server.
func TestKilled_IsTheErrorOfTheServer(t *testing.T) {
	o, b, _ := newSessions(t)
	if _, err := o.Query("SELECT pg_terminate_backend(%d)", b.pid); err != nil {
		t.Fatal(err)
	}
	if err := b.finish(""); err != nil || len(b.Replies) != 1 {
		t.Fatal(err, b.Replies)
	}
	var got, want pgproto3.ErrorResponse
	if err := got.Decode(b.Replies[0].Body()); err != nil {
		t.Fatal(err)
	}
	if err := want.Decode(killed.Body()); err != nil {
		t.Fatal(err)
	}
	got.File, got.Line, got.Routine = "", 0, ""
	if encoded := string(Encode(&got)); encoded != string(killed) {
		t.Errorf("got %q, want %q", encoded, killed)
	}
}
