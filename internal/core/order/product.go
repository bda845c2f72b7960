package order

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/orders/internal/core"
)

// Product is what a seller offers, with its stock.
type Product struct {
	// ID is the product's position in lists. Clients identify products by SKU.
	ID       int64
	SKU      string
	SellerID string
	Name     string
	Price    core.Money
	// OnHand counts the units in stock, Reserved those among them that are reserved for
	// orders. Always 0 ≤ Reserved ≤ OnHand.
	OnHand   int64
	Reserved int64
	// Version grows with every change of Name, Price or OnHand, from 1. It never comes
	// back, not even when they do. Reserved does not count.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// New reports that the product has not been stored: Save inserts it.
	New bool
}

// maxOnHand is the largest quantity on hand.
const maxOnHand = 1_000_000_000

// Owners returns the seller of the product.
func (p *Product) Owners() core.Owners { return core.Owners{Seller: p.SellerID} }

// Available returns the quantity that can still be ordered.
func (p *Product) Available() int64 { return p.OnHand - p.Reserved }

// auditMetadata says in the audit log what a product is now and, unless it is new, what
// changed. A name is text that somebody wrote, so only its change is named (AUTH-16).
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

// adjust changes the quantity on hand by a difference. Refusals: stock_reserved for fewer
// units than are reserved, validation_failed at the pointer for too many units.
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

// add changes the quantity on hand, and the version with it.
func (p *Product) add(units int64) {
	p.OnHand += units
	p.Version++
}

// stockReserved returns the refusal of fewer units on hand than are reserved.
func (p *Product) stockReserved() error {
	return core.Refuse(core.CodeStockReserved,
		fmt.Sprintf("on_hand must not be below the reserved quantity: %d of %s are reserved", p.Reserved, p.SKU))
}

// resource names the product in events and in the audit log.
func (p *Product) resource() string { return "product/" + p.SKU }

// Stock is the products of one order by SKU, locked by the transaction.
type Stock map[string]*Product

// reserve takes every line from the available quantities, or nothing at all.
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
