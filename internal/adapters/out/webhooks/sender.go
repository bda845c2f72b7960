// Package webhooks sends events to the endpoints of callers, signed as Standard Webhooks
// describes. Callers choose the URLs, so the package distrusts both URLs and receivers.
package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/outbox"
)

const (
	// exchangeTimeout bounds the whole exchange: name, connection, request and response.
	exchangeTimeout = 15 * time.Second
	// maxResponse and maxHeaders bound a response in bytes.
	maxResponse = 64 << 10
	maxHeaders  = 16 << 10
	// maxStart bounds the kept start of a response in characters.
	maxStart = 500
	// An endpoint has few requests in flight, which reuse their connections in a burst.
	maxIdlePerHost = 8
	maxIdle        = 256
	idleTimeout    = 30 * time.Second
)

// Config holds the settings of a sender.
type Config struct {
	// AllowPrivate admits http and private networks as well.
	AllowPrivate bool
	Now          func() time.Time
	// Sent receives the outcome of each attempt, "delivered" or the failure.
	Sent func(outcome string)
}

// Sender implements [webhook.Sender].
type Sender struct {
	Config

	targets targets
	client  *http.Client
	timeout time.Duration
}

// New returns a sender.
func New(cfg Config) *Sender {
	s := &Sender{Config: cfg, targets: newTargets(cfg.AllowPrivate), timeout: exchangeTimeout}
	s.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil, // it would connect in our place, to addresses that it does not check
			DialContext:            s.targets.dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHeaders,
			MaxIdleConns:           maxIdle, MaxIdleConnsPerHost: maxIdlePerHost, IdleConnTimeout: idleTimeout,
		},
	}
	return s
}

// Check returns why requests never go to a URL, for clients to read, or nil.
func (s *Sender) Check(target string) error { return s.targets.check(target) }

// Send implements [webhook.Sender].
func (s *Sender) Send(ctx context.Context, a webhook.Attempt) webhook.Outcome {
	outcome := s.exchange(ctx, a)
	if s.Sent != nil {
		s.Sent(cmp.Or(string(outcome.Failure), "delivered"))
	}
	return outcome
}

func (s *Sender) exchange(ctx context.Context, a webhook.Attempt) webhook.Outcome {
	if s.Check(a.URL) != nil { // the configuration may have changed since the URL was stored
		return webhook.Outcome{Failure: webhook.FailedAddress}
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := s.request(ctx, a)
	if err != nil {
		return webhook.Outcome{Failure: webhook.FailedConnection}
	}
	response, err := s.client.Do(request)
	if err != nil {
		return webhook.Outcome{Failure: failureOf(err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	outcome := webhook.Outcome{
		Status: response.StatusCode, Start: startOf(body), RetryAfter: s.wait(response.Header.Get("Retry-After")),
	}
	switch {
	case response.StatusCode/100 != 2:
		outcome.Failure = webhook.FailedStatus
	case err != nil:
		outcome.Failure = failureOf(err)
	}
	return outcome
}

// request returns the signed request.
func (s *Sender) request(ctx context.Context, a webhook.Attempt) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, strings.NewReader(a.Body))
	if err != nil {
		return nil, err
	}
	now := s.Now()
	var signatures []string
	for _, secret := range a.Secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, err
		}
		signature, err := key.Sign(a.EventID, now, []byte(a.Body))
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	r.Header.Set("Content-Type", outbox.ContentType)
	r.Header.Set("User-Agent", "orders-webhooks")
	r.Header.Set(standardwebhooks.HeaderWebhookID, a.EventID)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return r, nil
}

// wait returns how long a Retry-After asks to wait, or 0.
func (s *Sender) wait(after string) time.Duration {
	if seconds, err := strconv.ParseUint(after, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(0, at.Sub(s.Now()))
	}
	return 0
}

// startOf returns the start of a response as text that PostgreSQL can store.
func startOf(body []byte) string {
	text := []rune(strings.ReplaceAll(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00", "\uFFFD"))
	return string(text[:min(len(text), maxStart)])
}

func failureOf(err error) webhook.Failure {
	refused, _ := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, errMetadata):
		return webhook.FailedAddress
	case refused != nil && refused.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return webhook.FailedTimeout
	}
	return webhook.FailedConnection
}
