package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// stockAdjustments implements [order.StockAdjustments].
type stockAdjustments struct{ tx *session }

// Lock locks and loads a product that the grant covers, and the operation's earlier
// adjustment.
func (s stockAdjustments) Lock(ctx context.Context, sku string, by core.Operation, g core.Grant) (*order.Product, *order.StockAdjustment, error) {
	var prior []dbsqlc.StockAdjustment
	find := dbsqlc.StockAdjustmentByOperationParams{Sku: sku, CreatedBy: by.Actor, IdempotencyKey: by.Key}
	p, err := s.tx.lockProduct(ctx, sku, g, pgtx.Into(&prior, (*queries).StockAdjustmentByOperation, find))
	if err != nil || len(prior) == 0 {
		return p, nil, err
	}
	return p, adjustmentOf(prior[0]), nil
}

// Add inserts an adjustment.
func (s stockAdjustments) Add(ctx context.Context, a *order.StockAdjustment) error {
	return s.tx.writes().InsertStockAdjustment(ctx, dbsqlc.InsertStockAdjustmentParams{
		ID: a.ID, Sku: a.SKU, Change: a.Change, OnHand: a.OnHand, Reason: a.Reason,
		CreatedBy: a.By.Actor, IdempotencyKey: a.By.Key, CreatedAt: a.CreatedAt,
	})
}

func adjustmentOf(row dbsqlc.StockAdjustment) *order.StockAdjustment {
	return &order.StockAdjustment{
		ID: row.ID, SKU: row.Sku, Change: row.Change, OnHand: row.OnHand, Reason: row.Reason,
		By: core.Operation{Actor: row.CreatedBy, Key: row.IdempotencyKey}, CreatedAt: row.CreatedAt.UTC(),
	}
}
