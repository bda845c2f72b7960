package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"example.com/orders/internal/adapters/in/http/wire"
)

// maxBody is the size of the largest body.
const maxBody = 64 << 10

// readBody reads a body to its end, because a request that was cut short must not be
// taken for a shorter one. An absent body is empty; whether the operation needs one is
// up to the contract.
//
// Refusals: body_too_large, unsupported_media_type, malformed_request.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, newProblem(wire.ProblemCodeBodyTooLarge, "the body must not exceed 64 KiB")
	}
	if err != nil {
		return nil, errBodyCutShort()
	}
	if len(body) > 0 && !isJSON(r.Header) {
		return nil, newProblem(wire.ProblemCodeUnsupportedMediaType, "send the body as application/json in UTF-8")
	}
	return body, nil
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
