package migrations

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrLocked reports that a migration found a table locked on each attempt. It has
// changed nothing.
var ErrLocked = errors.New("a transaction holds a lock that the migration needs, such as that of a backup: " +
	"run `orders migrate up` again when it has ended")

// While a migration waits for a table lock, later commands on that table queue behind
// it. So it waits for at most lockTimeout, and lets them pass for lockPause before it
// retries. lockTimeout is longer than deadlock_timeout, a second by default, after
// which PostgreSQL ends a blocking autovacuum.
const (
	lockTimeout = "1500ms"
	lockPause   = time.Second
	lockTries   = 30
	endless     = -1
)

// concurrently matches a file that PostgreSQL refuses to run in a transaction. Its
// single statement blocks no command, however long it waits itself.
var concurrently = regexp.MustCompile(`(?m)^(CREATE INDEX|CREATE UNIQUE INDEX|DROP INDEX) CONCURRENTLY `)

// lockRetrier is a driver that retries files which lost a race for locks against commands.
// PostgreSQL has rolled them back. A file in a transaction records its version there, so
// that a killed process leaves all or nothing.
type lockRetrier struct {
	database.Driver
	stop <-chan struct{}
	// target is the version after the file that is about to run; recorded reports that
	// the file's transaction has recorded it.
	target   int
	recorded bool
}

func (r *lockRetrier) Run(file io.Reader) error {
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if concurrently.Match(text) {
		return r.runConcurrently(text)
	}
	whole := recordVersion(string(text), r.target)
	err = retryLocked(r.stop, lockTries, lockPause, func() error { return r.Driver.Run(strings.NewReader(whole)) })
	r.recorded = err == nil
	return err
}

// recordVersion adds statements to a file that record a version. Readers of the version do
// not wait.
func recordVersion(text string, version int) string {
	text += "\n;DELETE FROM schema_migrations;"
	if version < 0 {
		return text
	}
	return fmt.Sprintf("%s INSERT INTO schema_migrations (version, dirty) VALUES (%d, false);", text, version)
}

// runConcurrently runs a file once, because a failure leaves an invalid index; see
// repair. The schema is dirty meanwhile.
func (r *lockRetrier) runConcurrently(text []byte) error {
	err := retryLocked(r.stop, lockTries, lockPause, func() error { return r.Driver.SetVersion(r.target, true) })
	if err == nil {
		err = waitForLocks(r.Driver, "0")
	}
	if err != nil {
		return err
	}
	err = r.Driver.Run(bytes.NewReader(text))
	return errors.Join(err, waitForLocks(r.Driver, lockTimeout))
}

// waitForLocks sets the connection's lock timeout, 0 for none.
func waitForLocks(driver database.Driver, timeout string) error {
	return driver.Run(strings.NewReader("SET lock_timeout = '" + timeout + "'"))
}

// SetVersion is called before a file runs (dirty) and after. Recording locks a table read
// by each readiness check. It never gives up on a file that has run.
func (r *lockRetrier) SetVersion(version int, dirty bool) error {
	switch {
	case dirty:
		r.target, r.recorded = version, false
		return nil
	case r.recorded && version == r.target:
		return nil
	}
	return retryLocked(r.stop, endless, lockPause, func() error { return r.Driver.SetVersion(version, false) })
}

// retryLocked calls run until it loses no race, up to tries times, or until stop.
func retryLocked(stop <-chan struct{}, tries int, pause time.Duration, run func() error) error {
	for {
		err := run()
		if !lostRace(err) {
			return err
		}
		tries--
		if tries == 0 || !sleep(stop, pause) {
			return fmt.Errorf("%w (%w)", ErrLocked, err)
		}
	}
}

// sleep reports whether it slept for d without being stopped.
func sleep(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-stop:
		return false
	}
}

// lostRace reports whether PostgreSQL ended a migration because of a lock.
func lostRace(err error) bool {
	if failed, ok := errors.AsType[database.Error](err); ok {
		err = failed.OrigErr
	}
	if failed, ok := errors.AsType[*database.Error](err); ok {
		err = failed.OrigErr
	}
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (server.Code == "40P01" || server.Code == "55P03") // deadlock_detected, lock_not_available
}
