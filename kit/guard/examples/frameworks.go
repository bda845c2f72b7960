package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gorilla/mux"
	"github.com/labstack/echo/v4"

	"example.com/orders/kit/guard/httpguard"
)

// framework routes POST /accounts/{account}/transfers to a bank.
type framework func(b bank, once *httpguard.Guard) http.Handler

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
