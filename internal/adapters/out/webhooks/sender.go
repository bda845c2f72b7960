// Package webhooks sends events to endpoints, signed as Standard Webhooks
// describes. Callers choose the URLs, so the package distrusts both URLs and receivers.
package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/outbox"
)

// Sender implements [webhook.Sender].
type Sender struct {
	allowPrivate bool
	guard        *ssrf.Guardian
	dialer       *net.Dialer
	client       *http.Client
	now          func() time.Time
	sent         func(outcome string)
}

// New returns a sender, which reaches loopback and private networks, and uses http, only
// if allowPrivate is true. sent receives the outcome: delivered, or the failure.
func New(allowPrivate bool, now func() time.Time, sent func(outcome string)) *Sender {
	const bound = 15 * time.Second // a dial goes on when the request has given up
	prefix := netip.MustParsePrefix
	azure := prefix("168.63.129.16/32") // credentials of the machine, at a public address
	options := []ssrf.Option{ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azure)}
	if allowPrivate {
		options = append(options, ssrf.WithAllowedV6Prefixes(prefix("::1/128")), ssrf.WithAllowedV4Prefixes(
			prefix("127.0.0.0/8"), prefix("10.0.0.0/8"), prefix("172.16.0.0/12"), prefix("192.168.0.0/16")))
	}
	guard := ssrf.New(options...)
	dialer := &net.Dialer{Timeout: bound, Control: guard.Safe} // asked about each address
	transport := &http.Transport{
		DialContext:     dialer.DialContext, // and no proxy, which would connect anywhere
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: bound,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 16 << 10,
		MaxIdleConns:           256, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: transport, CheckRedirect: stay, Timeout: bound}
	return &Sender{allowPrivate, guard, dialer, client, now, sent}
}

// Check returns why requests never go to a URL, for clients to read, or nil. The address
// of a name is known at the connection only.
func (s *Sender) Check(target string) error {
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Hostname() == "" || len(target) > 2048:
		return errors.New("must be an absolute URL of at most 2048 characters")
	case u.Scheme != "https" && (u.Scheme != "http" || !s.allowPrivate):
		return errors.New("must be an https URL")
	case u.User != nil || strings.Contains(target, "#"):
		return errors.New("must contain neither credentials nor a fragment")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && s.guard.SafeAddr(addr) != nil {
		return errors.New("must not lead to a private or reserved network")
	}
	return nil
}

// Send implements [webhook.Sender].
func (s *Sender) Send(ctx context.Context, a webhook.Attempt) (outcome webhook.Outcome) {
	defer func() { s.sent(cmp.Or(string(outcome.Failure), "delivered")) }()
	if s.Check(a.URL) != nil { // the configuration may have changed since the URL was stored
		return webhook.Outcome{Failure: webhook.FailedAddress}
	}
	response, err := s.post(ctx, a)
	if err != nil {
		return webhook.Outcome{Failure: failureOf(0, err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	return webhook.Outcome{
		Status: response.StatusCode, Start: startOf(body),
		RetryAfter: s.wait(response.Header.Get("Retry-After")), Failure: failureOf(response.StatusCode, err),
	}
}

// post sends the signed request.
func (s *Sender) post(ctx context.Context, a webhook.Attempt) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, strings.NewReader(a.Body))
	if err != nil {
		return nil, err
	}
	now, signatures := s.now(), make([]string, len(a.Secrets))
	for i, secret := range a.Secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, err
		}
		if signatures[i], err = key.Sign(a.EventID, now, []byte(a.Body)); err != nil {
			return nil, err
		}
	}
	r.Header.Set("Content-Type", outbox.ContentType)
	r.Header.Set("User-Agent", "orders-webhooks")
	r.Header.Set(standardwebhooks.HeaderWebhookID, a.EventID)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return s.client.Do(r)
}

// wait returns how long a Retry-After asks to wait, or 0.
func (s *Sender) wait(after string) time.Duration {
	if at, err := http.ParseTime(after); err == nil {
		return max(0, at.Sub(s.now()))
	}
	seconds, _ := strconv.ParseUint(after, 10, 32) // 0 for other text
	return time.Duration(seconds) * time.Second
}

// startOf returns the start of a response as text that PostgreSQL can store.
func startOf(body []byte) string {
	text := []rune(strings.ReplaceAll(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00", "\uFFFD"))
	return string(text[:min(len(text), 500)])
}

// failureOf returns why an attempt failed, or "". The status is 0 if there is no response.
func failureOf(status int, err error) webhook.Failure {
	network, _ := errors.AsType[net.Error](err)
	switch {
	case status != 0 && status/100 != 2:
		return webhook.FailedStatus
	case err == nil:
		return ""
	case errors.Is(err, ssrf.ErrProhibitedIP):
		return webhook.FailedAddress
	case network != nil && network.Timeout():
		return webhook.FailedTimeout
	}
	return webhook.FailedConnection
}
