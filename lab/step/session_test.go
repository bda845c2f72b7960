package step

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	pgtest "example.com/orders/internal/test/pg"
)

// increment is a statement that runs outside a transaction, and that Sync would commit.
var increment = encode(&pgproto3.Parse{Query: "UPDATE counter SET n = n + 1"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Flush{})

// newSessions returns two sessions of the owner, who has a counter.
func newSessions(t *testing.T) (o *outside, first, second *backend) {
	t.Helper()
	o, err := newOutside(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.close)
	if err := o.exec("CREATE TABLE counter AS SELECT 0 AS n"); err != nil {
		t.Fatal(err)
	}
	config := o.observer.Config()
	startup := encode(&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": config.User, "database": config.Database},
	})
	for _, b := range []**backend{&first, &second} {
		if *b, _, err = o.connect(startup); err != nil {
			t.Fatal(err)
		}
	}
	return o, first, second
}

// begin sends messages, and reports whether their statement waits for a lock.
func begin(t *testing.T, o *outside, b *backend, raw []byte, ends string) (blocked bool) {
	t.Helper()
	if err := b.send(raw); err != nil {
		t.Fatal(err)
	}
	blocked, err := o.await(b, ends)
	if err != nil {
		t.Fatal(err)
	}
	if !blocked {
		b.take()
	}
	return blocked
}

// A session that lost its client leaves no change and no lock, and serves the next client.
// One that waits for a lock does so when it has the lock.
func TestRelease_RollsBack(t *testing.T) {
	for name, raw := range map[string][]byte{
		"in a transaction":      append(encode(&pgproto3.Query{String: "BEGIN"}), increment...),
		"outside a transaction": increment,
	} {
		t.Run(name, func(t *testing.T) {
			o, first, second := newSessions(t)
			if begin(t, o, first, raw, "C") || !begin(t, o, second, raw, "C") {
				t.Fatal("the second session does not wait for the first")
			}
			for _, b := range []*backend{second, first} { // the first has a lock that the second needs
				if len(o.idle) > 0 {
					t.Fatal("a session that waits for a lock serves the next client")
				}
				if err := o.release(b, false); err != nil {
					t.Fatal(err)
				}
				for again := true; again; {
					freed, err := o.settleLeaving()
					if err != nil {
						t.Fatal(err)
					}
					again = freed
				}
			}
			n, err := column[int](o, "SELECT n FROM counter FOR UPDATE NOWAIT")
			if err != nil || n[0] != 0 || len(o.idle) != 2 {
				t.Errorf("n = %v, %v; %d sessions serve the next client", n, err, len(o.idle))
			}
		})
	}
}

// The error of a killed session is that of the server.
func TestKilled_IsTheErrorOfTheServer(t *testing.T) {
	o, b, _ := newSessions(t)
	if err := o.exec("SELECT pg_terminate_backend($1)", b.pid); err != nil {
		t.Fatal(err)
	}
	if err := o.finish(b, ""); err != nil || len(b.replies) != 1 {
		t.Fatal(err, b.replies)
	}
	var got, want pgproto3.ErrorResponse
	if err := got.Decode(b.replies[0].body()); err != nil {
		t.Fatal(err)
	}
	if err := want.Decode(message(killed).body()); err != nil {
		t.Fatal(err)
	}
	got.File, got.Line, got.Routine = "", 0, ""
	if encoded := string(encode(&got)); encoded != string(killed) {
		t.Errorf("got %q, want %q", encoded, killed)
	}
}
