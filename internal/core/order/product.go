package order

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/orders/internal/core"
)

// Product is an offer by a seller, with its stock.
type Product struct {
	// ID is the position in lists. Clients identify products by SKU.
	ID       int64
	SKU      string
	SellerID string
	Name     string
	Price    core.Money
	// OnHand counts all units in stock, Reserved those reserved for orders. Always 0 ≤
	// Reserved ≤ OnHand.
	OnHand   int64
	Reserved int64
	// Version grows with every change to Name, Price or OnHand, from 1, and never
	// repeats. Changes to Reserved do not count.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// New reports that the product is not stored yet: Save inserts it.
	New bool
}

// Clone returns a deep copy, nil for nil.
func (p *Product) Clone() *Product {
	if p == nil {
		return nil
	}
	return new(*p)
}

const maxOnHand = 1_000_000_000

// Owners returns the seller.
func (p *Product) Owners() core.Owners { return core.Owners{Seller: p.SellerID} }

// Available returns the quantity that can still be ordered.
func (p *Product) Available() int64 { return p.OnHand - p.Reserved }

// auditMetadata describes the product and its changes since before. A name is free
// text, so only the fact that it changed is recorded (AUTH-16).
func (p *Product) auditMetadata(before Product) core.Metadata {
	m := p.Owners().Metadata().With("price", p.Price.String()).With("on_hand", strconv.FormatInt(p.OnHand, 10))
	if p.New {
		return m
	}
	var changed []string
	if p.Name != before.Name {
		changed = append(changed, "name")
	}
	if !p.Price.Equal(before.Price) {
		changed = append(changed, "price")
		m.With("previous_price", before.Price.String())
	}
	if p.OnHand != before.OnHand {
		changed = append(changed, "on_hand")
		m.With("previous_on_hand", strconv.FormatInt(before.OnHand, 10))
	}
	return m.With("changed", strings.Join(changed, " "))
}

// adjust changes the quantity on hand. Refusals: stock_reserved below the reserved
// quantity, validation_failed at the pointer above maxOnHand.
func (p *Product) adjust(change int64, pointer string) error {
	switch {
	case change < -p.Available():
		return p.stockReserved()
	case change > 0 && change > maxOnHand-p.OnHand:
		return core.InvalidField(pointer, fmt.Sprintf("the quantity on hand must not exceed %d", maxOnHand))
	}
	p.add(change)
	return nil
}

func (p *Product) add(units int64) {
	p.OnHand += units
	p.Version++
}

func (p *Product) stockReserved() error {
	return core.Refuse(core.CodeStockReserved,
		fmt.Sprintf("on_hand must not be below the reserved quantity: %d of %s are reserved", p.Reserved, p.SKU))
}

// resource names the product in events and in the audit log.
func (p *Product) resource() string { return "product/" + p.SKU }

// Stock is the products of an order by SKU, locked by the transaction.
type Stock map[string]*Product

// reserve takes all lines from the available quantities, or fails and changes no
// quantity.
func (s Stock) reserve(lines []Line) error {
	for _, l := range lines {
		if s[l.SKU].Available() < int64(l.Quantity) {
			return core.Refuse(core.CodeOutOfStock,
				fmt.Sprintf("insufficient stock: %d of %s available", s[l.SKU].Available(), l.SKU))
		}
	}
	for _, l := range lines {
		s[l.SKU].Reserved += int64(l.Quantity)
	}
	return nil
}

// release makes reserved units available again.
func (s Stock) release(lines []Line) error {
	return s.unreserve(lines, func(*Product, int64) {})
}

// sell removes reserved units from the stock.
func (s Stock) sell(lines []Line) error {
	return s.unreserve(lines, func(p *Product, n int64) { p.add(-n) })
}

func (s Stock) unreserve(lines []Line, also func(*Product, int64)) error {
	for _, l := range lines {
		p, n := s[l.SKU], int64(l.Quantity)
		if p.Reserved < n {
			return fmt.Errorf("release %d units of %s: only %d are reserved", n, l.SKU, p.Reserved)
		}
		p.Reserved -= n
		also(p, n)
	}
	return nil
}

// restock returns sold units to the stock.
func (s Stock) restock(lines []Line) {
	for _, l := range lines {
		s[l.SKU].add(int64(l.Quantity))
	}
}

// StockAdjustment is a change made by AdjustStock. OnHand is the resulting quantity.
type StockAdjustment struct {
	ID        int64
	SKU       string
	Change    int64
	OnHand    int64
	Reason    string
	Reference string
	By        core.Operation
	CreatedAt time.Time
}

// adjustment returns the adjustment for a change already applied to the stock.
func (p *Product) adjustment(cmd AdjustStock, by core.Operation, now time.Time) *StockAdjustment {
	return &StockAdjustment{
		SKU: p.SKU, Change: cmd.Change, OnHand: p.OnHand, Reason: cmd.Reason, Reference: cmd.Reference,
		By: by, CreatedAt: now,
	}
}

// repeats refuses a retry that asks for a different change than the first request did.
func (a *StockAdjustment) repeats(cmd AdjustStock) error {
	if a.Change != cmd.Change || a.Reason != cmd.Reason || a.Reference != cmd.Reference {
		return core.KeyReused()
	}
	return nil
}

func (a *StockAdjustment) auditMetadata(p *Product) core.Metadata {
	return p.Owners().Metadata().WithID("stock_adjustment_id", a.ID).
		With("change", strconv.FormatInt(a.Change, 10)).With("on_hand", strconv.FormatInt(a.OnHand, 10))
}
