package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/rs/zerolog"
)

// requestLog writes one line a request. It says what may be said by name, and nothing
// else gets in: no token, no key in clear, no body, no query (AUTH-16).
type requestLog struct{ zerolog.Logger }

// logEntry gathers what the line will say.
type logEntry struct {
	requestID string
	pattern   string
	principal string
	key       string
	outcome   string
	code      string
	cause     error
}

type logKey struct{}

// entryOf gives the entry of the request that ctx belongs to.
func entryOf(ctx context.Context) *logEntry {
	entry, _ := ctx.Value(logKey{}).(*logEntry)
	return entry
}

var goodRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// request names each request and writes its line.
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

// requestID takes the caller's name for the request, if it is a plain one, or makes one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); goodRequestID.MatchString(id) {
		return id
	}
	return rand.Text()
}

func (l requestLog) write(e *logEntry, method string, status int, took time.Duration) {
	level := zerolog.InfoLevel
	if status >= http.StatusInternalServerError {
		level = zerolog.ErrorLevel
	}
	line := l.WithLevel(level).
		Str("request_id", e.requestID).Str("method", method).Str("route", e.pattern).
		Int("status", status).Dur("duration_ms", took)
	optional(line, "principal", e.principal)
	optional(line, "code", e.code)
	optional(line, "idempotency", e.outcome)
	if e.key != "" {
		sum := sha256.Sum256([]byte(e.key))
		line.Str("key_sha256", hex.EncodeToString(sum[:6]))
	}
	line.AnErr("cause", e.cause).Msg("request")
}

func optional(line *zerolog.Event, name, value string) {
	if value != "" {
		line.Str(name, value)
	}
}

// recoverPanic answers a panic with a plain 500; its stack goes to the log. The
// transaction that it broke off has been rolled back on the way here.
func (a *api) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				a.Log.Error().Str("request_id", entryOf(r.Context()).requestID).
					Bytes("stack", debug.Stack()).Msg("panic")
				a.refuse(w, r, internalProblem())
			}
		}()
		next.ServeHTTP(w, r)
	})
}
