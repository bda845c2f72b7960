package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"
)

// subject is something that a request was about: the name of its ID in the log, and the ID.
type subject struct {
	name string
	id   int64
}

// subjects are what a request was about. There are three at most: a refund, its payment and
// their order.
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

// log adds the IDs to a line of the log.
func (s *subjects) log(event *zerolog.Event) {
	for _, subject := range s {
		if subject.id != 0 {
			event.Int64(subject.name, subject.id)
		}
	}
}

// maxPathDigits is how long an ID of a path may be. A longer number may be a telephone or a
// card number that somebody put into the path.
const maxPathDigits = 9

// subjectsOfPath returns the subjects that the path of a request names.
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

// createdAt is the beginning of the location of what commands create, and createdName the
// name of its ID.
const createdAt, createdName = "/orders/", "order_id"

// subjectOfLocation returns what a response has created. It knows replays, too.
func subjectOfLocation(location string) (created subjects) {
	if id, found := strings.CutPrefix(location, createdAt); found {
		created.addOne(subject{createdName, numberIn(id)})
	}
	return created
}
