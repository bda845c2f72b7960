// Package resources collects the resources that a request concerned, for the log.
package resources

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"
)

// Resource is a resource that a request concerned: the ID, under the name that it has
// in the log.
type Resource struct {
	Name string
	ID   int64
}

// Set holds those that a request concerned. There are three at most: a refund, the
// payment and the order.
type Set [3]Resource

// Add adds the resources that have an ID.
func (rs *Set) Add(more Set) {
	for _, r := range more {
		rs.addOne(r)
	}
}

func (rs *Set) addOne(added Resource) {
	if added.ID == 0 {
		return
	}
	for i := range rs {
		if rs[i].Name == "" || rs[i].Name == added.Name {
			rs[i] = added
			return
		}
	}
}

// Log writes the IDs.
func (rs *Set) Log(event *zerolog.Event) {
	for _, r := range rs {
		if r.ID != 0 {
			event.Int64(r.Name, r.ID)
		}
	}
}

// maxPathDigits is the longest ID in a path. A longer number may be a telephone or card
// number that a caller put into the path.
const maxPathDigits = 9

// OfPath returns the resources that a path names.
func OfPath(r *http.Request) (found Set) {
	params := chi.RouteContext(r.Context()).URLParams
	for i, name := range params.Keys {
		isResource := strings.HasSuffix(name, "_id") && name != "customer_id"
		if isResource && len(params.Values[i]) <= maxPathDigits {
			found.addOne(Resource{name, numberIn(params.Values[i])})
		}
	}
	return found
}

// numberIn returns the number in text, or 0 if text is not a number.
func numberIn(text string) int64 {
	number, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0
	}
	return int64(number)
}

// CreatedAt is the location prefix for created resources, and createdName the name of
// their ID.
const CreatedAt, createdName = "/orders/", "order_id"

// OfLocation returns the resource that a response or its replay created.
func OfLocation(location string) (created Set) {
	if id, found := strings.CutPrefix(location, CreatedAt); found {
		created.addOne(Resource{createdName, numberIn(id)})
	}
	return created
}
