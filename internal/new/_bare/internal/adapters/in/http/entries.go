package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
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

func (a *api) createEntry(ctx context.Context, actor core.Actor, cmd entry.CreateEntry) (*success, error) {
	e, repeated, err := a.Entries.CreateEntry(ctx, actor, cmd)
	if err != nil {
		return nil, err
	}
	location := fmt.Sprintf("/entries/%d", e.ID)
	return &success{status: http.StatusCreated, location: location, body: entryOut(e), repeated: repeated}, nil
}

// decodeEntryID returns the entry_id of the path.
func decodeEntryID(r *request) (int64, error) { return decodeID(r, "entry") }

func (a *api) getEntry(ctx context.Context, actor core.Actor, id int64) (*success, error) {
	e, err := a.Entries.GetEntry(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, body: entryOut(e)}, nil
}

func entryOut(e *entry.Entry) wire.Entry {
	return wire.Entry{
		ID: e.ID, Amount: moneyOut(e.Amount), Description: orNull(e.Description),
		CreatedBy: e.CreatedBy.Actor, CreatedAt: e.CreatedAt,
	}
}
