package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"
)

// resource is a resource that a request concerned: the ID, under the name that it has
// in the log.
type resource struct {
	name string
	id   int64
}

// resources are those that a request concerned. There are three at most: a refund, the
// payment and the order.
type resources [3]resource

// add adds the resources that have an ID.
func (rs *resources) add(more resources) {
	for _, r := range more {
		rs.addOne(r)
	}
}

func (rs *resources) addOne(added resource) {
	if added.id == 0 {
		return
	}
	for i := range rs {
		if rs[i].name == "" || rs[i].name == added.name {
			rs[i] = added
			return
		}
	}
}

func (rs *resources) log(event *zerolog.Event) {
	for _, r := range rs {
		if r.id != 0 {
			event.Int64(r.name, r.id)
		}
	}
}

// maxPathDigits is the longest ID in a path. A longer number may be a telephone or card
// number that a caller put into the path.
const maxPathDigits = 9

func resourcesOfPath(r *http.Request) (found resources) {
	params := chi.RouteContext(r.Context()).URLParams
	for i, name := range params.Keys {
		isResource := strings.HasSuffix(name, "_id") && name != "customer_id"
		if isResource && len(params.Values[i]) <= maxPathDigits {
			found.addOne(resource{name, numberIn(params.Values[i])})
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

// createdAt is the location prefix for created resources, and createdName the name of
// their ID.
const createdAt, createdName = "/orders/", "order_id"

// resourceOfLocation returns the resource that a response or its replay created.
func resourceOfLocation(location string) (created resources) {
	if id, found := strings.CutPrefix(location, createdAt); found {
		created.addOne(resource{createdName, numberIn(id)})
	}
	return created
}
