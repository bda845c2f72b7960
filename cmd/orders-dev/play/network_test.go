package play

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// newNetwork returns a network before a server that counts its requests.
func newNetwork(t *testing.T) (n *network, requests *int) {
	t.Helper()
	requests = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*requests++
		w.Header().Set("Idempotency-Result", "created")
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(server.Close)
	n, err := openNetwork(t.Context(), func() string { return strings.TrimPrefix(server.URL, "http://") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)
	return n, requests
}

// post sends an attempt through the network.
func post(t *testing.T, n *network) *Attempt {
	t.Helper()
	a := &Attempt{Method: http.MethodPost, Path: "/orders", Key: "one", Body: "{}"}
	newClient().send(t.Context(), a, n.url, "token")
	a.Lost = n.takeLost()
	return a
}

func TestNetwork_LosesOneResponseAfterTheServerHasAnswered(t *testing.T) {
	t.Parallel()
	n, requests := newNetwork(t)

	n.loseNext()
	first, second := post(t, n), post(t, n)

	if first.Status != 0 || first.Lost == nil || *first.Lost != (Lost{http.StatusCreated, "created"}) {
		t.Errorf("the first attempt is %+v, which lost %+v", first, first.Lost)
	}
	if second.Status != http.StatusCreated || second.Lost != nil {
		t.Errorf("the second attempt is %+v", second)
	}
	if *requests != 2 {
		t.Errorf("the server got %d requests, want 2: nobody may repeat one by itself", *requests)
	}
}

func TestNetwork_ClosesTheConnectionWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	n, err := openNetwork(t.Context(), func() string { return "127.0.0.1:1" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)

	if a := post(t, n); a.Status != 0 || a.Effect != unknown || a.Lost != nil {
		t.Errorf("the attempt is %+v", a)
	}
}
