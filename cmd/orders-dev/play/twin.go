package play

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"example.com/orders/cmd/orders/app"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/dev/loopback"
)

// unguarded is the path of the twin in a replica, before the path of the API.
const unguarded = "/unguarded"

// addTwin adds the unguarded twin to a replica: it runs the use case of the API
// on the same database, and each request is a new operation, as in a service without
// keys. Only orders-dev can start it.
func addTwin(ctx context.Context, service *app.App, databaseURL string) (*postgres.DB, error) {
	db, err := postgres.Open(ctx, postgres.Config{URL: databaseURL, MaxConns: 4}, postgres.Groups{})
	if err != nil {
		return nil, err
	}
	twin := loopback.Only(chargeUnguarded(&payment.Service{Store: db.Payments()}))
	service.Wrap(func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, unguarded+"/") {
				twin.ServeHTTP(w, r)
				return
			}
			api.ServeHTTP(w, r)
		})
	})
	return db, nil
}

// charge is the body of a charge, and of the response from the twin.
type charge struct {
	ID           int64   `json:"id,omitempty"`
	Amount       amount  `json:"amount"`
	BalanceAfter *amount `json:"balance_after,omitempty"`
	Description  string  `json:"description"`
}

type amount struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

func amountOf(m core.Money) amount { return amount{m.Decimal(), string(m.Currency())} }

// chargeUnguarded charges the twin's customer, once per request.
func chargeUnguarded(payments *payment.Service) http.Handler {
	actor := core.Actor{Subject: billing, Roles: []core.Role{core.System}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body charge
		err := json.NewDecoder(r.Body).Decode(&body)
		money, parseErr := core.ParseMoney(body.Amount.Amount, body.Amount.Currency)
		if err := errors.Join(err, parseErr); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		entry, _, err := payments.ChargeBalance(r.Context(), actor, payment.ChangeBalance{
			CustomerID: twinCustomer, Amount: money, Description: body.Description, Key: rand.Text(),
		})
		w.Header().Set("Content-Type", "application/json")
		if fault, refused := errors.AsType[*core.Fault](err); refused {
			w.WriteHeader(http.StatusPaymentRequired)
			_ = json.NewEncoder(w).Encode(map[string]core.Code{"code": fault.Code})
			return
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		after := amountOf(entry.BalanceAfter)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(charge{entry.ID, amountOf(entry.Amount), &after, entry.Description})
	})
}
