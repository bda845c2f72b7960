package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"

	"example.com/orders/internal/idempotency"
)

// success is the result of a use case.
type success struct {
	status   int
	location string
	// body is a value of package wire, nil for 204.
	body any
	// header holds all other headers of an unguarded operation.
	header http.Header
	// about is what the result belongs to, besides what path and location name.
	about subjects
	// repeated reports that the operation had taken effect before (the second line of
	// defence found it), so that this request had no effect of its own.
	repeated bool
}

// response is an answer in bytes, as it goes to the client.
type response struct {
	status int
	// contentType is empty for a response without a body.
	contentType string
	// location is the value of the Location header, or empty.
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
	return &response{status: s.status, contentType: "application/json", location: s.location, body: body, header: s.header}, err
}

// stored returns what is kept of the response for replays.
func (resp *response) stored() idempotency.Response {
	return idempotency.Response{
		Status: resp.status, ContentType: resp.contentType, Location: resp.location, Body: resp.body,
	}
}

// write sends the response.
func (resp *response) write(w http.ResponseWriter) {
	h := w.Header()
	maps.Copy(h, resp.header)
	if resp.contentType != "" {
		h.Set("Content-Type", resp.contentType)
	}
	if resp.location != "" {
		h.Set("Location", resp.location)
	}
	w.WriteHeader(resp.status)
	_, _ = w.Write(resp.body) // a client that hung up retries
}
