package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/rs/zerolog"

	"example.com/orders/internal/panics"
)

// requestLog writes one event per request. Its fields are listed here and nothing else
// is logged: no token, no plain key, no body, no query (AUTH-16).
type requestLog struct{ zerolog.Logger }

// logEntry collects the fields of the event while a request is served.
type logEntry struct {
	requestID string
	// guarded reports that the route takes an Idempotency-Key, so that its problems say
	// which key comes next. It is not logged.
	guarded   bool
	pattern   string
	principal string
	key       string
	outcome   string
	code      string
	cause     error
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
		entry := &logEntry{requestID: requestID(r)}
		w.Header().Set("X-Request-Id", entry.requestID)
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(ww, r.WithContext(context.WithValue(r.Context(), logKey{}, entry)))
		l.write(entry, r.Method, ww.Status(), time.Since(start))
	})
}

// requestID returns the caller's id of the request, if it is plain text, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); plainRequestID.MatchString(id) {
		return id
	}
	return rand.Text()
}

func (l requestLog) write(e *logEntry, method string, status int, took time.Duration) {
	level := zerolog.InfoLevel
	if status >= http.StatusInternalServerError || e.cause != nil {
		level = zerolog.ErrorLevel
	}
	event := l.WithLevel(level).
		Str("request_id", e.requestID).Str("method", method).Str("route", e.pattern).
		Int("status", status).Dur("duration_ms", took)
	optional(event, "principal", e.principal)
	optional(event, "code", e.code)
	optional(event, "idempotency", e.outcome)
	if e.key != "" {
		sum := sha256.Sum256([]byte(e.key))
		event.Str("key_sha256", hex.EncodeToString(sum[:6]))
	}
	optional(event, "stack", panics.StackOf(e.cause))
	event.AnErr("cause", e.cause).Msg("request")
}

func optional(event *zerolog.Event, name, value string) {
	if value != "" {
		event.Str(name, value)
	}
}
