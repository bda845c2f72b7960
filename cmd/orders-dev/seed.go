package main

import (
	"context"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// The people and the product of the printed session, and of the examples of the contract.
const (
	seedCustomer = "sber-42"
	seedSeller   = "tea-shop"
	seedSKU      = "tea"
)

// seed creates the product, unless there is one from an earlier run.
func (s *servers) seed(ctx context.Context) error {
	db, err := postgres.Open(ctx, postgres.Config{URL: s.cfg.DatabaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	defer db.Close()
	orders := &order.Service{Store: db.Orders()}
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
	if err != nil {
		return fmt.Errorf("create the product %s: %w", seedSKU, err)
	}
	return nil
}
