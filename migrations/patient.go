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

// ErrLocked reports that a migration found a table locked each time that it tried. It has
// changed nothing.
var ErrLocked = errors.New("a transaction holds a lock that the migration needs, such as that of a backup: " +
	"run `orders migrate up` again when it has ended")

// While a migration waits for the lock of a table, every command that comes later and uses
// the table waits behind it. So it waits for lockTimeout at most, and lets them pass for
// lockPause before it tries again. lockTimeout is longer than deadlock_timeout, a second by
// default, after which PostgreSQL ends an autovacuum that is in the way.
const (
	lockTimeout = "1500ms"
	lockPause   = time.Second
	lockTries   = 30
	endless     = -1
)

// concurrently recognises a file that PostgreSQL refuses to run in a transaction. Its one
// statement makes no command wait, however long it waits itself.
var concurrently = regexp.MustCompile(`(?m)^(CREATE INDEX|CREATE UNIQUE INDEX|DROP INDEX) CONCURRENTLY `)

// patient is a driver that tries again what lost a race against commands. PostgreSQL has
// rolled back all that the file did.
type patient struct {
	database.Driver
	stop <-chan struct{}
}

// Run runs a file.
func (p patient) Run(file io.Reader) error {
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if concurrently.Match(text) {
		return p.runConcurrently(text)
	}
	return again(p.stop, lockTries, lockPause, func() error { return p.Driver.Run(bytes.NewReader(text)) })
}

// runConcurrently runs a file once: when it fails, it leaves an invalid index.
func (p patient) runConcurrently(text []byte) error {
	if err := waitForLocks(p.Driver, "0"); err != nil {
		return err
	}
	err := p.Driver.Run(bytes.NewReader(text))
	return errors.Join(err, waitForLocks(p.Driver, lockTimeout))
}

// waitForLocks sets how long the connection of a driver waits for a lock, 0 for ever.
func waitForLocks(driver database.Driver, timeout string) error {
	return driver.Run(strings.NewReader("SET lock_timeout = '" + timeout + "'"))
}

// SetVersion notes that a file is about to run (dirty), or that it has. That locks a table
// which each readiness check reads. It does not give up on a file that has run.
func (p patient) SetVersion(version int, dirty bool) error {
	tries := endless
	if dirty {
		tries = lockTries
	}
	return again(p.stop, tries, lockPause, func() error { return p.Driver.SetVersion(version, dirty) })
}

// again calls run until it loses no race, until it has lost as many as tries, or until stop.
func again(stop <-chan struct{}, tries int, pause time.Duration, run func() error) error {
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

// sleep reports whether it has slept for d, and was not stopped before.
func sleep(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-stop:
		return false
	}
}

// lostRace reports whether PostgreSQL ended what a migration did because of a lock.
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
