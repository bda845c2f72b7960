package lossy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// requests are enough for each fault to happen.
const requests = 200

// echo starts a service that counts its requests and answers each with its body.
func echo(t *testing.T) (url string, served *atomic.Int64) {
	t.Helper()
	served = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	return server.URL, served
}

// patience returns a context that ends when the proxy holds back one more response of the
// service, as the time-out of a client would.
func patience(t *testing.T, p *Proxy, served *atomic.Int64) (context.Context, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	delayed, before := p.Counts()[Delay], served.Load()
	var watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil {
			if p.Counts()[Delay] > delayed && served.Load() > before {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	})
	return ctx, func() {
		cancel()
		watch.Wait()
	}
}

// send returns which fault a client saw.
func send(t *testing.T, p *Proxy, served *atomic.Int64) Fault {
	t.Helper()
	ctx, end := patience(t, p, served)
	defer end()
	// A client that reuses connections would repeat some requests by itself.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/echo?of=it", strings.NewReader(strings.Repeat("echo", 100)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://shop.example")
	resp, err := client.Do(req)
	switch {
	case errors.Is(err, context.Canceled):
		return Delay
	case err != nil:
		return DropResponse
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return CutBody
	case resp.StatusCode == http.StatusBadGateway:
		return BadGateway
	case resp.StatusCode != http.StatusOK || string(body) != strings.Repeat("echo", 100):
		t.Errorf("%s: %q", resp.Status, body)
	case resp.Header.Get("Access-Control-Allow-Origin") != "https://shop.example":
		t.Errorf("headers: %v", resp.Header)
	}
	return Pass
}

func TestProxy_LosesWhatItCounts(t *testing.T) {
	t.Parallel()
	url, served := echo(t)
	p := New(t, url, 1)
	seen := map[Fault]int{}
	for range requests {
		seen[send(t, p, served)]++
	}
	p.RequireFaults(t)
	counts := p.Counts()
	if want := requests - counts[DropRequest] - counts[BadGateway]; int(served.Load()) != want {
		t.Errorf("the service saw %d requests, want %d: %v", served.Load(), want, counts)
	}
	// A client cannot distinguish the two: that is why it retries by the same key.
	counts[DropResponse] += counts[DropRequest]
	delete(counts, DropRequest)
	if diff := cmp.Diff(counts, seen); diff != "" {
		t.Errorf("faults that the client saw (-counted +seen):\n%s", diff)
	}
}

func TestProxy_PassesPreflightRequests(t *testing.T) {
	t.Parallel()
	url, served := echo(t)
	p := New(t, url, 1)
	for range requests {
		req, err := http.NewRequest(http.MethodOptions, p.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if served.Load() != requests || len(p.Counts()) != 0 {
		t.Errorf("the service saw %d preflight requests: %v", served.Load(), p.Counts())
	}
}
