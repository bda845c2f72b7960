package play

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// network is a proxy between the client and a replica, for one attempt. It can lose the
// response: the replica has committed and answered, and the client sees the connection
// close.
type network struct {
	url    string
	server *http.Server
	lose   bool
	lost   atomic.Pointer[Lost]
}

// Lost is a response that never reached the client.
type Lost struct {
	Status int    `json:"status"`
	Result string `json:"result"` // Idempotency-Result
}

// openNetwork opens a proxy to the replica at addr.
func openNetwork(ctx context.Context, addr string, lose bool) (*network, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &network{url: "http://" + ln.Addr().String(), lose: lose}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: addr}) },
		// One connection per request: net/http would retry on a broken reused
		// connection.
		Transport:      &http.Transport{DisableKeepAlives: true},
		ModifyResponse: n.pass,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	n.server = &http.Server{Handler: proxy, ReadHeaderTimeout: 5 * time.Second, ErrorLog: proxy.ErrorLog}
	go func() { _ = n.server.Serve(ln) }()
	return n, nil
}

// pass forwards a response unless it has to be lost.
func (n *network) pass(response *http.Response) error {
	if !n.lose {
		return nil
	}
	_, _ = io.Copy(io.Discard, response.Body) // the replica has sent everything
	_ = response.Body.Close()
	n.lost.Store(&Lost{response.StatusCode, response.Header.Get("Idempotency-Result")})
	panic(http.ErrAbortHandler) // closes the client connection
}

func (n *network) close() { _ = n.server.Close() }
