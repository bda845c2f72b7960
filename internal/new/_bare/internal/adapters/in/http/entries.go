package httpapi

import (
	"fmt"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core/entry"
)

func decodeCreateEntry(r *request) (entry.CreateEntry, error) {
	in, err := bodyOf[wire.CreateEntryRequest](r)
	if err != nil {
		return entry.CreateEntry{}, err
	}
	amount, err := decodeMoney(in.Amount, "/amount")
	return entry.CreateEntry{Amount: amount, Description: valueOf(in.Description), Key: r.key}, err
}

// decodeEntryID returns the entry_id of the path.
func decodeEntryID(r *request) (int64, error) { return decodeID(r, "entry") }

func showEntry(e *entry.Entry) *success { return &success{status: http.StatusOK, body: entryOut(e)} }

func showNewEntry(e *entry.Entry) *success {
	return &success{status: http.StatusCreated, location: fmt.Sprintf("/entries/%d", e.ID), body: entryOut(e)}
}

func entryOut(e *entry.Entry) wire.Entry {
	return wire.Entry{
		ID: e.ID, Amount: moneyOut(e.Amount), Description: orNull(e.Description),
		CreatedBy: e.CreatedBy.Actor, CreatedAt: e.CreatedAt,
	}
}
