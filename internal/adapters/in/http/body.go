package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"example.com/orders/internal/adapters/in/http/wire"
)

// maxBody is how many bytes of a body are read.
const maxBody = 64 << 10

// readBody reads a body to its end: a request that was cut short must not be taken
// for a shorter one. Absent bodies come back empty; whether that will do is up to the
// contract of the operation.
//
// Refusals: body_too_large, unsupported_media_type, malformed_request.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, newProblem(wire.ProblemCodeBodyTooLarge, "a body has at most 64 KiB")
	case err != nil:
		return nil, newProblem(wire.ProblemCodeMalformedRequest, "the body ended before its end")
	case len(body) > 0 && !announcesJSON(r.Header):
		return nil, newProblem(wire.ProblemCodeUnsupportedMediaType, "send the body as application/json in UTF-8")
	}
	return body, nil
}

// announcesJSON tells whether the headers promise plain JSON in UTF-8.
func announcesJSON(h http.Header) bool {
	if len(h.Values("Content-Type")) != 1 || h.Get("Content-Encoding") != "" {
		return false
	}
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}
