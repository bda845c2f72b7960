package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/orders/kit/client/api"
)

// Config configures a client. URL and Token are required; other zero values mean defaults.
type Config struct {
	// URL is the service address, such as https://orders.example.com. It must be https, or http
	// on loopback, because tokens are sent there.
	URL string
	// Token returns the access token for each request.
	Token TokenSource
	// Keys stores the operation keys. The default is a [FileStore] in the folder
	// "orders" of [os.UserConfigDir].
	Keys KeyStore
	// Principal separates the keys of several principals that share a store.
	Principal string
	// Service names the service in the store. One name at several addresses is one service: set
	// it before the address changes. The default is the address, as [Client] writes it.
	Service string
	// Transport sends the requests. The default is [http.DefaultTransport].
	Transport http.RoundTripper
	// AttemptTimeout bounds one attempt. The default is 10 s.
	AttemptTimeout time.Duration
	// Timeout bounds a call with all attempts, unless the context has a deadline. The
	// default is 30 s.
	Timeout time.Duration
	// BackOff is the time between two attempts.
	BackOff BackOff
}

// TokenSource returns the access token for the next attempt. It may return the same token
// while that is valid. When fresh is true, the service has just refused the token with 401.
type TokenSource func(ctx context.Context, fresh bool) (string, error)

// StaticToken returns a source that always returns token.
func StaticToken(token string) TokenSource {
	return func(context.Context, bool) (string, error) { return token, nil }
}

// Client calls the service for one principal. It is safe for concurrent use.
//
// In the key store, the service has the name Service, or its address: the scheme, the host in
// lower case, the port unless it is the default, and the path. localhost is 127.0.0.1.
type Client struct {
	config Config
	// formerly is the name of the service in stores of version 0.1: the URL as it was written.
	formerly string
	http     *http.Client
	random   func(limit time.Duration) time.Duration // in [0, limit)
	now      func() time.Time                        // by the wall clock
}

// New returns a client. The first command sends the first request.
func New(config Config) (*Client, error) {
	base, err := url.Parse(config.URL)
	if err != nil || !isSafe(base) {
		return nil, errors.New("client: URL must be https, or http on loopback, such as https://orders.example.com")
	}
	if config.Token == nil {
		return nil, errors.New("client: Token is required")
	}
	if config.Keys == nil {
		if config.Keys, err = defaultKeys(); err != nil {
			return nil, err
		}
	}
	config.URL = strings.TrimSuffix(config.URL, "/")
	config.Service = cmp.Or(config.Service, addressOf(base))
	config.AttemptTimeout = cmp.Or(config.AttemptTimeout, 10*time.Second)
	config.Timeout = cmp.Or(config.Timeout, 30*time.Second)
	config.BackOff = config.BackOff.orDefault()
	return &Client{
		config:   config,
		formerly: config.URL,
		// A redirect could carry the token to a foreign host, and a POST is not repeated there.
		http: &http.Client{
			Transport:     config.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		random: rand.N[time.Duration],
		now:    time.Now,
	}, nil
}

// isSafe reports whether a URL keeps tokens from the network: https, or http on loopback.
func isSafe(u *url.URL) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	isLocal := strings.EqualFold(u.Hostname(), "localhost") || err == nil && addr.IsLoopback()
	return u.Scheme == "https" && u.Host != "" || u.Scheme == "http" && isLocal
}

// addressOf returns a URL in the one spelling that names a service.
func addressOf(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "localhost" || addr == netip.IPv6Loopback():
		host = "127.0.0.1"
	case err == nil && addr.Is6():
		host = "[" + addr.String() + "]"
	}
	if port := u.Port(); port != "" && port != map[string]string{"https": "443", "http": "80"}[u.Scheme] {
		host += ":" + port
	}
	return u.Scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/")
}

func defaultKeys() (KeyStore, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("client: set Keys, because there is no folder for the default: %w", err)
	}
	return NewFileStore(filepath.Join(dir, "orders", "keys"))
}

// maxResponse bounds a response in bytes. A page with a hundred full orders is smaller.
const maxResponse = 16 << 20

// request is a call, sent unchanged in each attempt.
type request struct {
	operation api.Operation
	path      string // with parameters and query
	header    http.Header
	body      any       // sent as JSON, unless nil
	name, key string    // set for commands
	until     time.Time // deadline, by the wall clock
}

// to returns the request for an operation with path parameters.
func to(operation api.Operation, parameters ...any) request {
	return request{operation: operation, path: operation.PathOf(parameters...)}
}

// with returns the request with a body.
func (r request) with(body any) request {
	r.body = body
	return r
}

// String returns the name of the request in errors. The path could identify a person.
func (r request) String() string {
	return strings.TrimSpace(r.name + " " + r.operation.Method + " " + r.operation.Path)
}

// repeatable reports whether the request may be retried when the outcome is unknown.
func (r request) repeatable() bool { return r.key != "" || r.operation.Method == http.MethodGet }

func (r request) build(ctx context.Context, baseURL string) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		document, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(document)
	}
	req, err := http.NewRequestWithContext(ctx, r.operation.Method, baseURL+r.path, body)
	if err != nil {
		return nil, err
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
		req.GetBody = nil // prevents retries inside net/http, which ignore the deadline
	}
	return req, nil
}

// attempt sends a request, and once more with a fresh token if the token is refused. It
// passes a success to read. The error is a [Problem], an [unansweredError], or one that
// a retry cannot help.
func (c *Client) attempt(ctx context.Context, r request, read reader) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.AttemptTimeout)
	defer cancel()
	header, err := c.send(ctx, r, false, read)
	if errors.Is(err, Unauthenticated) {
		return c.send(ctx, r, true, read)
	}
	return header, err
}

func (c *Client) send(ctx context.Context, r request, fresh bool, read reader) (http.Header, error) {
	token, err := c.config.Token(ctx, fresh)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	req, err := r.build(ctx, c.config.URL)
	if err != nil {
		return nil, err
	}
	// The machine may have slept until now, and a second caller may have got a new key for the
	// operation. The old key could take effect as well.
	if !c.now().Before(r.until) {
		return nil, context.DeadlineExceeded
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unanswered(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err == nil && len(body) > maxResponse {
		err = errors.New("the response is too large")
	}
	if err != nil {
		return resp.Header, unanswered(err)
	}
	return resp.Header, r.decode(resp, body, read)
}
