package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"example.com/orders/kit/client"
)

// A shop creates an order and pays it. Started again after a crash, wherever that was, it
// goes on with the same order and the same payment.
func Example() {
	service := startService()
	ctx := context.Background()

	c, err := client.New(client.Config{
		URL:   service.URL, // http://127.0.0.1:8080 of `make run`
		Token: client.StaticToken(os.Getenv("SHOP_TOKEN")),
		Keys:  &client.MemoryStore{}, // leave it out to keep keys in files
	})
	if err != nil {
		log.Fatal(err)
	}

	// The number of the cart comes from the shop's own data.
	order, err := c.CreateOrder(ctx, "cart-4711/order", client.NewOrder{
		Reference: "cart-4711",
		Items:     []client.Item{{SKU: "tea", Quantity: 2}},
	})
	if err != nil {
		log.Fatal(err)
	}
	payment, err := c.ConfirmPayment(ctx, "cart-4711/pay", order.ID, client.ByBalance())
	var unknown *client.UnknownOutcomeError
	switch {
	case errors.Is(err, client.InsufficientFunds):
		log.Fatal("top up, and call it again with the same name")
	case errors.As(err, &unknown):
		log.Fatal("call it again with the same name: ", err)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println("order", order.ID, "of", order.Total.Amount, order.Total.Currency)
	fmt.Println("payment", payment.Status, "- replayed:", payment.Replayed)
	service.Close()
	// Output:
	// order 1041 of 999.00 RUB
	// payment captured - replayed: true
}

// startService starts a service that loses the first response to a payment.
func startService() *httptest.Server {
	attempts := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id": 1041, "status": "pending_payment", "total": {"amount": "999.00", "currency": "RUB"}}`)
	})
	mux.HandleFunc("POST /orders/1041/payment/confirm", func(w http.ResponseWriter, r *http.Request) {
		attempts++
		if attempts == 1 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
		w.Header().Set("Idempotency-Result", "reused")
		_, _ = io.WriteString(w, `{"id": 501, "order_id": 1041, "status": "captured"}`)
	})
	return httptest.NewServer(mux)
}
