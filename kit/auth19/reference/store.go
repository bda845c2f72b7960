package reference

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// store is shared by all processes: a log in which each line is a transaction, so that an
// effect and response are there together or not at all.
type store struct {
	dir string

	mu      sync.Mutex
	read    int64 // how much of the log is known
	ids     int
	charges []charge
	records map[string]record
	locks   map[string]bool // for a fault
	raised  bool
}

type charge struct {
	ID     int     `json:"id"`
	Amount float64 `json:"amount"`
	Note   string  `json:"note"`
	Owner  string  `json:"owner"`
	Route  string  `json:"route"`
}

type record struct {
	ID, Route, Body string
	Reply           reply
	Expired         bool `json:"-"`
}

type line struct {
	Charge                  *charge
	Record                  *record
	Lock, Unlock            string
	Expire, Unlimited, Next bool
}

func openStore(dir string) *store {
	return &store{dir: dir, records: map[string]record{}, locks: map[string]bool{}}
}

// commit adds a line to the log.
func (s *store) commit(l line) { s.change(func() *line { return &l }) }

// change reads the lines of other processes, and appends a line if there is one.
func (s *store) change(decide func() *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer func() { _ = log.Close() }() // which unlocks it
	if err := syscall.Flock(int(log.Fd()), syscall.LOCK_EX); err != nil {
		panic(err)
	}
	text, err := io.ReadAll(io.NewSectionReader(log, s.read, 1<<40))
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		s.apply(lines.Bytes())
	}
	s.read += int64(len(text))
	if l := decide(); l != nil {
		added, _ := json.Marshal(l)
		if _, err := log.Write(append(added, '\n')); err != nil {
			panic(err)
		}
		s.apply(added)
		s.read += int64(len(added) + 1)
	}
}

func (s *store) apply(text []byte) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		panic(err)
	}
	if l.Charge != nil {
		s.charges = append(s.charges, *l.Charge)
	}
	if l.Record != nil {
		s.records[l.Record.ID] = *l.Record
	}
	if l.Expire {
		for id, rec := range s.records {
			rec.Expired = true
			s.records[id] = rec
		}
	}
	if l.Next {
		s.ids++
	}
	if l.Lock != "" {
		s.locks[l.Lock] = true
	}
	delete(s.locks, l.Unlock)
	s.raised = s.raised || l.Unlimited
}

func (s *store) effects() (all []charge) {
	s.change(func() *line { all = append([]charge{}, s.charges...); return nil })
	return all
}

func (s *store) unlimited() (raised bool) {
	s.change(func() *line { raised = s.raised; return nil })
	return raised
}

// next returns a number that no charge has.
func (s *store) next() (id int) {
	s.change(func() *line { id = s.ids + 1; return &line{Next: true} })
	return id
}

// look returns the record of a key, for a fault that of anybody.
func (s *store) look(id string, anybody bool) (rec record, found bool) {
	s.change(func() *line {
		rec, found = s.records[id]
		for other, theirs := range s.records {
			if anybody && !found && strings.HasSuffix(other, " "+id) {
				rec, found = theirs, true
			}
		}
		return nil
	})
	return rec, found
}

// claim locks a key. The lock of a file ends with the process that holds it.
func (s *server) claim(id string) (release func(), claimed bool) {
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		if release, claimed = s.tryClaim(id); claimed {
			return release, true
		}
		if !s.waits || s.Fault == "fails duplicates" || s.Fault == "says nothing of coming back" || time.Since(began) > time.Second {
			return nil, false
		}
	}
}

func (s *server) tryClaim(id string) (release func(), claimed bool) {
	nothing := func() {}
	switch s.Fault {
	case "claims no key":
		return nothing, true
	case "claims keys in its process":
		_, taken := s.own.LoadOrStore(id, true)
		return func() { s.own.Delete(id) }, !taken
	case "leaves locks behind":
		s.change(func() *line {
			if claimed = !s.locks[id]; claimed {
				return &line{Lock: id}
			}
			return nil
		})
		return func() { s.commit(line{Unlock: id}) }, claimed
	case "locks the key of a failure":
		s.change(func() *line { claimed = !s.locks[id]; return nil })
		if !claimed {
			return nil, false
		}
	}
	sum := sha256.Sum256([]byte(id))
	file, err := os.OpenFile(filepath.Join(s.dir, fmt.Sprintf("lock-%x", sum[:12])), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = file.Close()
		return nil, false
	}
	if s.leased(file) {
		_ = file.Close()
		return nil, false
	}
	return func() { _ = errors.Join(file.Truncate(0), file.Close()) }, true
}
