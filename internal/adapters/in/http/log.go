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
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/in/http/cardnumber"
	"example.com/orders/internal/adapters/in/http/resources"
	"example.com/orders/internal/observe/panics"
	"example.com/orders/kit/guard"
)

// logEntry collects the fields of the log event while a request is served. Only these
// are logged: no token, no plain key, no body, no query (AUTH-16).
type logEntry struct {
	requestID string
	traceID   string // empty if tracing is off
	// remote is the host at the connection's other end: the client or a proxy.
	remote string
	// guarded reports that the route takes an Idempotency-Key, so that problems say
	// which key comes next. It is not logged.
	guarded   bool
	pattern   string
	subject   string
	resources resources.Set
	key       string
	outcome   string
	code      string
	// reason explains a refusal to operators only. It repeats no part of the request.
	reason string
	cause  error

	// waited is how long the request waited for the first one with the key.
	waited time.Duration
	// replayOf is when the record was stored that was replayed.
	replayOf time.Time
}

// completed records the outcome of a guarded request: the record replayed, or stored now for
// done.
func (e *logEntry) completed(record guard.Record, replayed bool, done *success) {
	repeated := done != nil && done.repeated
	e.outcome = outcomeOf(replayed || repeated)
	if done != nil {
		e.resources.Add(done.resources)
	}
	e.resources.Add(resources.OfLocation(record.Location))
	if replayed {
		e.replayOf = record.CreatedAt
	}
}

type logKey struct{}

// entryOf returns the log entry in a request's context.
func entryOf(ctx context.Context) *logEntry {
	entry, _ := ctx.Value(logKey{}).(*logEntry)
	return entry
}

var plainRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// instrumented is the middleware around every request. It assigns the request id, sets
// the security headers, traces, answers panics with 500, logs the request and reports
// it to the observer.
func (a *api) instrumented(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		a.Observe.RequestBegan()
		entry := &logEntry{requestID: requestID(r), remote: hostOf(r.RemoteAddr)}
		w.Header().Set("X-Request-Id", entry.requestID)
		setSecureHeaders(w, r)
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		ctx, span := a.trace(context.WithValue(r.Context(), logKey{}, entry), r)
		r = r.WithContext(ctx)
		defer a.finish(ww, r, span, start)
		next.ServeHTTP(ww, r)
	})
}

// finish ends an instrumented request. A panic becomes a 500, and the log entry has
// message and stack. The transaction has been rolled back by then.
func (a *api) finish(w middleware.WrapResponseWriter, r *http.Request, span trace.Span, start time.Time) {
	if v := recover(); v != nil {
		a.respondError(w, r, panics.Recovered(v))
	}
	entry, took := entryOf(r.Context()), time.Since(start)
	endSpan(span, r, entry, w.Status())
	entry.write(a.Log, r.Method, w.Status(), took)
	entry.report(a.Observe, r.Method, w.Status(), took) // in flight until here, should the log wait
}

// hostOf returns the host in an address.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

// requestID returns the caller's request id if it is plain text, or else a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); plainRequestID.MatchString(id) && !cardnumber.In(id) {
		return id
	}
	return rand.Text()
}

func (e *logEntry) write(log zerolog.Logger, method string, status int, took time.Duration) {
	event := log.WithLevel(e.level(status)).
		Str("request_id", e.requestID).Str("remote_addr", e.remote).
		Str("method", loggedMethod(method)).Str("route", e.pattern).
		Int("status", status).Dur("duration_ms", took)
	strUnlessEmpty(event, "trace_id", e.traceID)
	strUnlessEmpty(event, "principal", loggedSubject(e.subject)) // log fields keep their names
	e.resources.Log(event)
	strUnlessEmpty(event, "code", e.code)
	strUnlessEmpty(event, "reason", e.reason)
	strUnlessEmpty(event, "idempotency", e.outcome)
	if e.key != "" {
		event.Str("key_sha256", shortHash(e.key))
	}
	strUnlessEmpty(event, "stack", panics.StackOf(e.cause))
	event.AnErr(zerolog.ErrorFieldName, e.cause).Msg("request")
}

// level returns the event's level. Successful probes matter only in debugging.
func (e *logEntry) level(status int) zerolog.Level {
	switch {
	case status >= http.StatusInternalServerError || e.cause != nil:
		return zerolog.ErrorLevel
	case strings.HasPrefix(e.pattern, "/health/"):
		return zerolog.DebugLevel
	}
	return zerolog.InfoLevel
}

// otherMethod replaces any word that is not an HTTP method.
const otherMethod = "other"

// loggedMethod returns an HTTP method as it is. Any other word may be a secret.
func loggedMethod(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE":
		return method
	}
	return otherMethod
}

// loggedSubject returns a subject as it is, or a hash if it looks like an e-mail
// address, a telephone number or a card number, which an issuer should not use.
func loggedSubject(subject string) string {
	if strings.ContainsAny(subject, "@+") || cardnumber.In(subject) {
		return "sha256:" + shortHash(subject)
	}
	return subject
}

// shortHash returns a hash prefix, enough to recognise a value by.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// strUnlessEmpty adds a field to a log event, unless the value is empty.
func strUnlessEmpty(event *zerolog.Event, name, value string) {
	if value != "" {
		event.Str(name, value)
	}
}
