package order

import (
	"fmt"
	"time"

	"example.com/orders/internal/core"
)

// Product is what a seller offers, and how many there are.
type Product struct {
	// ID is the product's place in lists; clients name products by SKU.
	ID       int64
	SKU      string
	SellerID string
	Name     string
	Price    core.Money
	// OnHand counts the units on the shelf, Reserved those of them that live holds
	// keep: 0 ≤ Reserved ≤ OnHand, always.
	OnHand    int64
	Reserved  int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// New tells that the product has not been stored yet.
	New bool
}

// Available is what can still be ordered.
func (p *Product) Available() int64 { return p.OnHand - p.Reserved }

// Stock is the products of one order, by SKU, locked for the transaction.
type Stock map[string]*Product

// reserve takes every line from what is available, or nothing at all.
func (s Stock) reserve(lines []Line) error {
	for _, l := range lines {
		if s[l.SKU].Available() < int64(l.Quantity) {
			return core.Refuse(core.Conflict, core.CodeOutOfStock,
				fmt.Sprintf("%d of %s are available", s[l.SKU].Available(), l.SKU))
		}
	}
	for _, l := range lines {
		s[l.SKU].Reserved += int64(l.Quantity)
	}
	return nil
}

// release gives reserved units back to what is available.
func (s Stock) release(lines []Line) error {
	return s.unreserve(lines, func(*Product, int64) {})
}

// sell turns reserved units into sold ones: they leave the shelf.
func (s Stock) sell(lines []Line) error {
	return s.unreserve(lines, func(p *Product, n int64) { p.OnHand -= n })
}

func (s Stock) unreserve(lines []Line, also func(*Product, int64)) error {
	for _, l := range lines {
		p, n := s[l.SKU], int64(l.Quantity)
		if p.Reserved < n {
			return fmt.Errorf("%s has %d reserved units, %d were to be taken", l.SKU, p.Reserved, n)
		}
		p.Reserved -= n
		also(p, n)
	}
	return nil
}

// restock puts sold units back on the shelf.
func (s Stock) restock(lines []Line) {
	for _, l := range lines {
		s[l.SKU].OnHand += int64(l.Quantity)
	}
}
