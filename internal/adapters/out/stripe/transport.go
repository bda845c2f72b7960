package stripe

import (
	"errors"
	"net/http"
)

// maxResponse bounds a response. A page of a hundred charges has less than a megabyte.
const maxResponse = 8 << 20

// errRedirected is the error of a call that is answered with a redirect. Stripe never
// does that.
var errRedirected = errors.New("the response is a redirect")

// transport distrusts responses. A redirect would take our key to whoever it names, and
// a response without an end would take our memory.
type transport struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 3 {
		_ = resp.Body.Close()
		return nil, errRedirected
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxResponse)
	return resp, nil
}
