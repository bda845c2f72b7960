// Package examples guards a route under each framework as its users would write it.
package examples

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gorilla/mux"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgxstore"
	"example.com/orders/kit/guard/routetest"
)

// frameworks serve POST /accounts/{account}/transfers with a bank on pgx.
var frameworks = map[string]func(b bank, once *httpguard.Guard) http.Handler{
	"ServeMux": serveMux, "chi": onChi, "gorilla": onGorilla, "echo": onEcho, "gin": onGin,
}

func serveMux(b bank, once *httpguard.Guard) http.Handler {
	router := http.NewServeMux()
	router.Handle("POST /accounts/{account}/transfers", once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.serve(w, r, r.PathValue("account"))
	})))
	return router
}

func onChi(b bank, once *httpguard.Guard) http.Handler {
	router := chi.NewRouter()
	router.Route("/accounts", func(r chi.Router) {
		r.Use(once.Middleware) // every route of this router needs a key
		r.Post("/{account}/transfers", func(w http.ResponseWriter, r *http.Request) {
			b.serve(w, r, chi.URLParam(r, "account"))
		})
	})
	return router
}

func onGorilla(b bank, once *httpguard.Guard) http.Handler {
	router := mux.NewRouter()
	guarded := router.Methods(http.MethodPost).Subrouter()
	guarded.Use(once.Middleware)
	guarded.HandleFunc("/accounts/{account}/transfers", func(w http.ResponseWriter, r *http.Request) {
		b.serve(w, r, mux.Vars(r)["account"])
	})
	return router
}

// Echo answers a returned error behind the middleware, where nothing has been written.
// So the innermost middleware hands the error over.
func onEcho(b bank, once *httpguard.Guard) http.Handler {
	failing := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := next(c); err != nil {
				httpguard.Fail(c.Request(), err)
			}
			return nil
		}
	}
	e := echo.New()
	e.POST("/accounts/:account/transfers", func(c echo.Context) error {
		id, err := b.transfer(c.Request(), c.Param("account"))
		if err != nil {
			return err
		}
		return c.JSON(http.StatusCreated, map[string]int{"id": id})
	}, echo.WrapMiddleware(once.Middleware), failing)
	return e
}

// Gin runs a chain of handlers once, so a middleware of gin cannot run them again. The
// guard stands around a handler of net/http inside of the last one.
func onGin(b bank, once *httpguard.Guard) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST("/accounts/:account/transfers", func(c *gin.Context) {
		once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b.serve(w, r, c.Param("account"))
		})).ServeHTTP(c.Writer, c.Request)
	})
	return engine
}

func TestFrameworks(t *testing.T) {
	t.Parallel()
	for name, build := range frameworks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			routetest.Run(t, func(t *testing.T) routetest.Route {
				t.Helper()
				return newRoute(t, newTables(t), func(pool *pgxpool.Pool) http.Handler { return build(onPgx, newGuard(pgxstore.New(pool))) })
			})
		})
	}
}

// A handler that lost a race is called again by every framework, and routed as before.
func TestFrameworks_RunAHandlerAgain(t *testing.T) {
	t.Parallel()
	for name, build := range frameworks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newTables(t)
			runs, b := 0, onPgx
			b.before = func(r *http.Request) error {
				runs++
				if runs > 2 {
					return nil
				}
				_, err := pgxstore.Tx(r.Context()).Exec(r.Context(), "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '40001'; END $$")
				return err
			}
			handler := build(b, newGuard(pgxstore.New(pool)))
			for i, replayed := range []string{"", "true"} {
				w := send(t, handler, `{"cents": 1000}`)
				if w.Code != http.StatusCreated || w.Header().Get("Idempotent-Replayed") != replayed {
					t.Errorf("request %s: status %d, %v, %s", strconv.Itoa(i), w.Code, w.Header(), w.Body)
				}
			}
			if effects := testdb.Count(t, pool, "SELECT count(*) FROM transfer WHERE key <> ''"); effects != 1 || runs != 3 {
				t.Errorf("%d effects after %d runs, want 1 after 3", effects, runs)
			}
		})
	}
}
