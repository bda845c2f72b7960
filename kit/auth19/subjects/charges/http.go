package charges

import (
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
)

// NewMux serves the list of charges, and the limits.
func NewMux(pool *pgxpool.Pool) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /charges", func(w http.ResponseWriter, r *http.Request) {
		rows, err := List(r.Context(), pool)
		body, _ := json.Marshal(map[string]any{"data": rows}) //nolint:errchkjson // numbers
		Reply(w, Response{http.StatusOK, body}, err)
	})
	mux.HandleFunc("PUT /payers/{id}", func(w http.ResponseWriter, r *http.Request) {
		var limit struct{ Max int64 }
		err := json.NewDecoder(r.Body).Decode(&limit)
		if err == nil {
			err = SetLimit(r.Context(), pool, r.PathValue("id"), limit.Max)
		}
		Reply(w, Response{Status: http.StatusNoContent}, err)
	})
	return mux
}

// Authenticated refuses requests without a token.
func Authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" && CustomerOf(r.Header.Get("Authorization")) == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Reply sends a response, or 500.
func Reply(w http.ResponseWriter, resp Response, err error) {
	if err != nil {
		resp = Response{http.StatusInternalServerError, json.RawMessage(`{"error":"internal"}`)}
	}
	if resp.Body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(resp.Status)
	_, _ = w.Write(resp.Body) // a client that is gone retries
}
