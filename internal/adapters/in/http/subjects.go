package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"
)

// subject is a resource that a request concerned: its ID, and the ID's name in the log.
type subject struct {
	name string
	id   int64
}

// subjects are the resources that a request concerned. There are three at most: a
// refund, its payment and their order.
type subjects [3]subject

// add adds the subjects that have an ID.
func (s *subjects) add(more subjects) {
	for _, subject := range more {
		s.addOne(subject)
	}
}

func (s *subjects) addOne(added subject) {
	if added.id == 0 {
		return
	}
	for i := range s {
		if s[i].name == "" || s[i].name == added.name {
			s[i] = added
			return
		}
	}
}

func (s *subjects) log(event *zerolog.Event) {
	for _, subject := range s {
		if subject.id != 0 {
			event.Int64(subject.name, subject.id)
		}
	}
}

// maxPathDigits is the longest ID in a path. A longer number may be a telephone or card
// number that a caller put into the path.
const maxPathDigits = 9

func subjectsOfPath(r *http.Request) (found subjects) {
	params := chi.RouteContext(r.Context()).URLParams
	for i, name := range params.Keys {
		if strings.HasSuffix(name, "_id") && name != "customer_id" && len(params.Values[i]) <= maxPathDigits {
			found.addOne(subject{name, numberIn(params.Values[i])})
		}
	}
	return found
}

// numberIn returns a number, or 0 for another text.
func numberIn(text string) int64 {
	number, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0
	}
	return int64(number)
}

// createdAt is the location prefix for created resources, and createdName their ID's
// name.
const createdAt, createdName = "/orders/", "order_id"

// subjectOfLocation returns the resource that a response or its replay created.
func subjectOfLocation(location string) (created subjects) {
	if id, found := strings.CutPrefix(location, createdAt); found {
		created.addOne(subject{createdName, numberIn(id)})
	}
	return created
}
