package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"example.com/orders/internal/adapters/in/http/wire"
)

// maxBody is the size of the largest body.
const maxBody = 64 << 10

// readBody reads a JSON body. An absent body is empty; whether the operation needs one is
// up to the contract.
//
// Refusals: body_too_large, unsupported_media_type, malformed_request.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := readUpTo(maxBody, w, r)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 && !isJSON(r.Header) {
		return nil, newProblem(wire.ProblemCodeUnsupportedMediaType, "send the body as application/json in UTF-8")
	}
	return body, nil
}

// readUpTo reads a body to its end, because a request that was cut short must not be taken
// for a shorter one. The buffer has its final size from the beginning: one that grows takes
// several times the memory of the body.
//
// Refusals: body_too_large, malformed_request.
func readUpTo(limit int64, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	size := r.ContentLength
	if size < 0 || size > limit { // not declared, or refused below
		size = limit
	}
	body := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // ReadFrom needs MinRead to see the end
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, errBodyTooLarge(limit)
	}
	if err != nil {
		return nil, errBodyCutShort()
	}
	return body.Bytes(), nil
}

func errBodyTooLarge(limit int64) error {
	return newProblem(wire.ProblemCodeBodyTooLarge, fmt.Sprintf("the body must not exceed %d KiB", limit>>10))
}

func errBodyCutShort() error {
	return newProblem(wire.ProblemCodeMalformedRequest, "the connection ended before the end of the body")
}

// isJSON reports whether the headers declare plain JSON in UTF-8.
func isJSON(h http.Header) bool {
	contentType := h.Values("Content-Type")
	if len(contentType) != 1 || h.Get("Content-Encoding") != "" {
		return false
	}
	if contentType[0] == "application/json" {
		return true // as most clients write it
	}
	mediaType, params, err := mime.ParseMediaType(contentType[0])
	if err != nil || mediaType != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}
