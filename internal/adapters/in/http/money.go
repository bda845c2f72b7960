package httpapi

import (
	"errors"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// decodeMoney parses money at the given JSON pointer of the body. A schema cannot list
// the currencies and their decimals, so it is here that they are checked.
func decodeMoney(in wire.Money, pointer string) (core.Money, error) {
	money, err := core.ParseMoney(in.Amount, in.Currency)
	return money, below(pointer, err)
}

// below moves the pointers of a fault under a member of the body.
func below(pointer string, err error) error {
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
