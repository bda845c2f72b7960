// Package admission decides when a transaction starts, so that no principal and no kind
// of transaction takes all connections. It knows no SQL, and a place is no connection:
// whoever waits for a place holds none.
//
// # Ways to wait
//
// A command waits, or must come again, in the order of this table. The last column is a
// figure that was measured, or else the reason.
//
//	wait                 protects                  without it
//
//	before the store: app, limits, idempotency
//	connections          files and memory          one client opens all that there are
//	requests, new keys   others from a principal   a loop is answered as fast as it asks
//	in flight            others from a principal   slow requests fill the waits below
//	poll of a duplicate  the first request         a duplicate asks again at once
//
//	in group and lanes
//	Places.Refused       connections               COMMITs that hang take one by one
//	RetryPredictor       replays from locks        16 clients: 0.82 of the replays,
//	                                               instead of 0.97
//	Ungroupable          groups from commands      64 clients adjust stock 0.79 times
//	                     that cannot join          as often
//	lane                 CPU, by shared            PostgreSQL takes 0.55 ms for a
//	                     transactions              credit, instead of 0.07 ms
//	line of a principal  others from a principal   a burst delays all
//	pause to gather      groups from running       16 clients: 0.85 of the credits,
//	                     early                     64 clients: 0.98
//	HeldRows             lanes from a row held     60 waiters leave 109 to 255 credits,
//	                     for long                  instead of 2,500 to 5,500
//	lock timeout         lanes from slow rows      fixed at 50 ms, where COMMIT takes
//	                                               80 ms: 0.37 of the credits
//	records.Await        keys after a rollback     command and duplicate both answer
//	                                               that the key is in progress
//	lookAfter            duplicates from waiting   503 after ten seconds, instead of
//	                     for a place               409 at once
//
//	in this package
//	share                others from a principal   waits for one row take all places
//	waiters              commands that wait for    20 orders of a held product delay
//	                     no row                    all others by ten seconds
//	ungrouped            lanes from commands       those take all places of writers
//	                     outside
//	writers              reads from slow COMMITs   no replica is ready where a standby
//	                                               is lost
//
//	in pgtx
//	connection           PostgreSQL's memory       as many sessions as clients
//	servers              a server that comes back  each request dials it
//	pause in Run         from a second deadlock    of 960 that lock two rows in any
//	                                               order 144 fail, instead of 18
//	COMMIT               effects from a failover   the standby lacks them
//
//	in jobs, by package stripe
//	breaker              workers from an outage    each attempt takes 20 s
package admission
