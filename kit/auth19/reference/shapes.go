package reference

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// shape is how an honest server may look, in ways that no promise forbids.
type shape struct {
	booted time.Time // when it answers
	mu     sync.Mutex
	second time.Time // of the rate limit
	asked  int
	shown  []charge // by a list that shows what the read before found
}

// lease is how long a process that died keeps a key, and boot how long one starts.
const (
	lease = time.Second
	boot  = 300 * time.Millisecond
	limit = 40 // requests a second
)

// is reports whether the server has a shape. A configuration may name some.
func (s *server) is(shape string) bool { return strings.Contains(s.Shape, shape) }

// shaped returns the answer of an honest server that has the shapes of the configuration.
func (s *server) shaped(w http.ResponseWriter, r *http.Request) reply {
	switch {
	case s.is("boots behind a proxy") && time.Now().Before(s.booted):
		return reply{Status: http.StatusBadGateway, Body: "<html>bad gateway</html>"}
	case s.is("limits the rate") && s.exceeded():
		w.Header().Set("Retry-After", "1")
		return reply{Status: http.StatusTooManyRequests, Body: `{"error":"slow down"}`}
	}
	got := s.answer(r)
	if s.is("traces each answer") {
		trace := fmt.Sprintf("%x", time.Now().UnixNano())
		w.Header().Set("X-Correlation-Id", trace)
		if got.Status/100 != 2 {
			got.Body = strings.Replace(got.Body, "{", `{"trace":"`+trace+`",`, 1)
		}
	}
	if s.is("has a word as body") {
		got.Body = strings.ReplaceAll(got.Body, `{"error":"`, `{"error":"not done: `)
	}
	switch {
	case got.later && s.is("locks with"):
		got.Status, _ = strconv.Atoi(s.Shape[len("locks with "):])
	case got.later && s.is("accepts duplicates"):
		return reply{Status: http.StatusAccepted, Body: `{"status":"in progress"}`}
	case r.Method == http.MethodPost && got.Status == http.StatusCreated:
		return s.reduced(got)
	}
	return got
}

// reduced returns a success that says less.
func (s *server) reduced(got reply) reply {
	switch {
	case s.is("has one body"):
		got.Body, got.Location = `{"ok":true}`, ""
	case s.is("has no body"):
		got.Status, got.Body, got.Location = http.StatusNoContent, "", ""
	case s.is("has a word as body"):
		got.Body, got.Location = "done", ""
	}
	return got
}

func (s *shape) exceeded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.second) > time.Second {
		s.second, s.asked = time.Now(), 0
	}
	s.asked++
	return s.asked > limit
}

// listed returns the effects that a list shows.
func (s *server) listed(token string) []charge {
	all := s.effects()
	if s.is("revalidates its list") {
		s.shape.mu.Lock()
		all, s.shown = s.shown, all
		s.shape.mu.Unlock()
	}
	shown := []charge{}
	for _, c := range all {
		own := c.Owner == token || !s.is("lists to the owner")
		if own && (c.Route != "/refunds" || !s.is("has two lists")) {
			shown = append(shown, c)
		}
	}
	if s.is("lists the newest") {
		shown = shown[max(0, len(shown)-3):]
	}
	return shown
}

// leased reports whether a process that died has left a lease on the key of a lock file.
// Otherwise, the key is leased to this one until release.
func (s *server) leased(file *os.File) bool {
	if !s.is("leases its keys") {
		return false
	}
	info, err := file.Stat()
	if err == nil && info.Size() > 0 && time.Since(info.ModTime()) < lease {
		return true
	}
	_, err = file.WriteAt([]byte("leased"), 0)
	now := time.Now()
	return os.Chtimes(file.Name(), now, now) != nil || err != nil
}

// single lets one connection be served at a time.
type single struct {
	net.Listener

	free chan struct{}
}

func (l single) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &served{Conn: conn, done: sync.OnceFunc(func() { <-l.free })}, nil
}

type served struct {
	net.Conn

	done func()
}

func (c *served) Close() error {
	defer c.done()
	return c.Conn.Close()
}
