package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/resources"
	"example.com/orders/kit/guard"
)

// success is a use case's result.
type success struct {
	status   int
	location string
	// body is a value from package wire, nil for 204.
	body any
	// header holds an unguarded operation's other headers.
	header http.Header
	// resources are those of the result that path and location do not name.
	resources resources.Set
	// repeated reports that the operation had taken effect before (the second line of
	// defence found it), so that this request had no effect.
	repeated bool
}

// response is an answer in bytes, as it goes to the client.
type response struct {
	status int
	// contentType is empty if there is no body.
	contentType string
	// location is the Location header, or empty.
	location string
	body     []byte
	// header holds all other headers.
	header http.Header
}

// encode returns the success as JSON.
func (s *success) encode() (*response, error) {
	if s.status == http.StatusNoContent {
		return &response{status: s.status, header: s.header}, nil
	}
	body, err := json.Marshal(s.body)
	return &response{
		status: s.status, contentType: "application/json", location: s.location, body: body, header: s.header,
	}, err
}

// problemResponse returns a problem document for a log entry's request.
func problemResponse(p *problem.Problem, entry *logEntry, instance string) *response {
	return &response{
		status: p.Status(), contentType: problem.MediaType, header: p.Header,
		body: p.Document(entry.requestID, instance, entry.guarded),
	}
}

// stored returns the part that is kept for replays.
func (resp *response) stored() guard.Response {
	return guard.Response{
		Status: resp.status, ContentType: resp.contentType, Location: resp.location, Body: resp.body,
	}
}

// write sends the response. It sets the length for HEAD, which sends the headers only.
func (resp *response) write(w http.ResponseWriter) {
	h := w.Header()
	maps.Copy(h, resp.header)
	if resp.contentType != "" {
		h.Set("Content-Type", resp.contentType)
	}
	if resp.location != "" {
		h.Set("Location", resp.location)
	}
	if resp.status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(resp.body)))
	}
	w.WriteHeader(resp.status)
	_, _ = w.Write(resp.body) // a client that hung up retries
}
