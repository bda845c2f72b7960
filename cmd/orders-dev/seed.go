package main

import (
	"context"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/webhook"
)

// The people and the product in the printed session and the contract examples.
const (
	seedCustomer = "sber-42"
	seedSeller   = "tea-shop"
	seedSKU      = "tea"
)

// seed creates the product and credits the customer with 5000 roubles, once, and renews
// the webhook endpoint of the seller.
func (s *servers) seed(ctx context.Context) error {
	db, err := postgres.Open(ctx, postgres.Config{URL: s.cfg.DatabaseURL, MaxConns: 1}, postgres.Groups{})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := seedProduct(ctx, &order.Service{Store: db.Orders()}); err != nil {
		return fmt.Errorf("create the product %s: %w", seedSKU, err)
	}
	if err := seedBalance(ctx, &payment.Service{Store: db.Payments()}); err != nil {
		return fmt.Errorf("credit %s: %w", seedCustomer, err)
	}
	hooks := &webhook.Service{
		Store: db.Webhooks(), EventTypes: order.EventTypes, CheckURL: func(string) error { return nil },
	}
	if err := s.openReceiver(ctx, hooks); err != nil {
		return fmt.Errorf("create the webhook endpoint of %s: %w", seedSeller, err)
	}
	return nil
}

func seedProduct(ctx context.Context, orders *order.Service) error {
	if _, err := orders.GetProduct(ctx, seedSKU); err == nil {
		return nil
	}
	price, err := core.ParseMoney("499.50", "RUB")
	if err != nil {
		return err
	}
	seller := core.Actor{Subject: seedSeller, Roles: []core.Role{core.Seller}}
	_, _, err = orders.PutProduct(ctx, seller, order.PutProduct{
		SKU: seedSKU, Name: "Tea, 100 g", Price: price, OnHand: new(int64(1000)),
	})
	return err
}

// seedBalance credits the customer under one key in all runs, so that the second line
// of defence admits only the first.
func seedBalance(ctx context.Context, payments *payment.Service) error {
	amount, err := core.ParseMoney("5000.00", "RUB")
	if err != nil {
		return err
	}
	billing := core.Actor{Subject: "billing", Roles: []core.Role{core.System}}
	_, _, err = payments.CreditBalance(ctx, billing, payment.ChangeBalance{
		CustomerID: seedCustomer, Amount: amount, Description: "seed of orders-dev", Key: "orders-dev-seed",
	})
	return err
}
