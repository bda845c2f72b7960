package httpapi

import (
	"errors"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// convertAll converts a list. An empty list stays a list and never becomes null.
func convertAll[A, B any](list []A, convert func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// valueOf returns the zero value for an absent member.
func valueOf[T any](p *T) T {
	var v T
	if p != nil {
		v = *p
	}
	return v
}

// orNull returns nil for the zero value, such as empty text.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// decodeMoney parses money at a JSON pointer in the body. It checks currencies and
// their decimals, which a schema cannot list.
func decodeMoney(in wire.Money, pointer string) (core.Money, error) {
	money, err := core.ParseMoney(in.Amount, in.Currency)
	return money, prefixPointers(pointer, err)
}

// prefixPointers puts pointer in front of a fault's pointers, which start at that member.
func prefixPointers(pointer string, err error) error {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		for i := range fault.Fields {
			fault.Fields[i].Pointer = pointer + fault.Fields[i].Pointer
		}
	}
	return err
}

func moneyOut(m core.Money) wire.Money {
	return wire.Money{Amount: m.Decimal(), Currency: string(m.Currency())}
}
