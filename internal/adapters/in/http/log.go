package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/rs/zerolog"

	"example.com/orders/internal/idempotency"
	"example.com/orders/internal/panics"
)

// requestLog writes one event per request. Its fields are listed here and nothing else
// is logged: no token, no plain key, no body, no query (AUTH-16). It reports each request
// to the observer, too.
type requestLog struct {
	zerolog.Logger
	observe Observer
}

// logEntry collects the fields of the event while a request is served.
type logEntry struct {
	requestID string
	traceID   string // empty where nothing is traced
	// remote is the host at the other end of the connection: the client or a proxy.
	remote string
	// guarded reports that the route takes an Idempotency-Key, so that its problems say
	// which key comes next. It is not logged.
	guarded   bool
	pattern   string
	principal string
	about     subjects
	key       string
	outcome   string
	code      string
	cause     error

	// waitsSince is when another request had the key, and waited how long that lasted.
	waitsSince time.Time
	waited     time.Duration
	// replayOf is when the record was stored that was replayed.
	replayOf time.Time
}

// completed notes how a guarded request ended: with a record that was replayed, or that done
// made now.
func (e *logEntry) completed(record idempotency.Record, replayed bool, done *success) {
	e.outcome = outcomeOf(replayed || done != nil && done.repeated)
	if done != nil {
		e.about.add(done.about)
	}
	e.about.add(subjectOfLocation(record.Location))
	if replayed {
		e.replayOf = record.CreatedAt
	}
}

type logKey struct{}

// entryOf returns the log entry of the request that ctx belongs to.
func entryOf(ctx context.Context) *logEntry {
	entry, _ := ctx.Value(logKey{}).(*logEntry)
	return entry
}

var plainRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// request is the middleware that assigns the request id and writes the event.
func (l requestLog) request(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		l.observe.RequestBegan()
		entry := &logEntry{requestID: requestID(r), remote: hostOf(r.RemoteAddr)}
		w.Header().Set("X-Request-Id", entry.requestID)
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(ww, r.WithContext(context.WithValue(r.Context(), logKey{}, entry)))
		took := time.Since(start)
		entry.report(l.observe, r.Method, ww.Status(), took)
		l.write(entry, r.Method, ww.Status(), took)
	})
}

// hostOf returns an address without its port.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

// requestID returns the caller's id of the request, if it is plain text, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); plainRequestID.MatchString(id) && !hasCardNumber(id) {
		return id
	}
	return rand.Text()
}

func (l requestLog) write(e *logEntry, method string, status int, took time.Duration) {
	event := l.WithLevel(e.level(status)).
		Str("request_id", e.requestID).Str("remote_addr", e.remote).
		Str("method", loggedMethod(method)).Str("route", e.pattern).
		Int("status", status).Dur("duration_ms", took)
	optional(event, "trace_id", e.traceID)
	optional(event, "principal", loggedPrincipal(e.principal))
	e.about.log(event)
	optional(event, "code", e.code)
	optional(event, "idempotency", e.outcome)
	if e.key != "" {
		event.Str("key_sha256", shortHash(e.key))
	}
	optional(event, "stack", panics.StackOf(e.cause))
	event.AnErr(zerolog.ErrorFieldName, e.cause).Msg("request")
}

// level returns the level of the event. Probes ask all the time, so that those which
// succeed matter only to whoever debugs.
func (e *logEntry) level(status int) zerolog.Level {
	switch {
	case status >= http.StatusInternalServerError || e.cause != nil:
		return zerolog.ErrorLevel
	case strings.HasPrefix(e.pattern, "/health/"):
		return zerolog.DebugLevel
	}
	return zerolog.InfoLevel
}

// otherMethod stands for all words that are no methods of HTTP.
const otherMethod = "other"

// loggedMethod returns a method of HTTP as it is. Any other word may be a secret.
func loggedMethod(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE":
		return method
	}
	return otherMethod
}

// loggedPrincipal returns a subject as it is, or its hash if it looks like an e-mail
// address, a telephone number or a card number. An issuer should use none of them.
func loggedPrincipal(subject string) string {
	if strings.ContainsAny(subject, "@+") || hasCardNumber(subject) {
		return "sha256:" + shortHash(subject)
	}
	return subject
}

// shortHash returns the beginning of a hash: enough to recognise a value by.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

func optional(event *zerolog.Event, name, value string) {
	if value != "" {
		event.Str(name, value)
	}
}
