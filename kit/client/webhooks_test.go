package client

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
)

// first ends a list after the first entry.
func first[T any](list iter.Seq2[T, error]) error {
	for _, err := range list {
		return err
	}
	return nil
}

func TestWebhooks_SendTheirRequests(t *testing.T) {
	disabled := false
	for want, c := range map[string]struct {
		status int
		call   func(context.Context, *Client) error
	}{
		`POST /webhook-endpoints {"event_types":["*"],"url":"https://a.example"}`: {http.StatusCreated, func(ctx context.Context, c *Client) error {
			made, err := c.CreateWebhookEndpoint(ctx, NewWebhookEndpoint{URL: "https://a.example", EventTypes: []string{"*"}})
			if err == nil && made.Secret != "whsec_1" {
				t.Errorf("the secret is %q, want whsec_1", made.Secret)
			}
			return err
		}},
		"GET /webhook-endpoints": {http.StatusOK, func(ctx context.Context, c *Client) error { return first(c.ListWebhookEndpoints(ctx)) }},
		"GET /webhook-endpoints/7": {http.StatusOK, func(ctx context.Context, c *Client) error {
			_, err := c.GetWebhookEndpoint(ctx, 7)
			return err
		}},
		`PATCH /webhook-endpoints/7 {"disabled":false}`: {http.StatusOK, func(ctx context.Context, c *Client) error {
			_, err := c.UpdateWebhookEndpoint(ctx, 7, WebhookEndpointUpdate{Disabled: &disabled})
			return err
		}},
		"DELETE /webhook-endpoints/7": {http.StatusNoContent, func(ctx context.Context, c *Client) error { return c.DeleteWebhookEndpoint(ctx, 7) }},
		"POST /webhook-endpoints/7/rotate-secret": {http.StatusOK, func(ctx context.Context, c *Client) error {
			_, err := c.RotateWebhookSecret(ctx, 7)
			return err
		}},
		"POST /webhook-endpoints/7/test": {http.StatusCreated, func(ctx context.Context, c *Client) error {
			_, err := c.TestWebhookEndpoint(ctx, 7)
			return err
		}},
		"GET /webhook-endpoints/7/deliveries?status=failed": {http.StatusOK, func(ctx context.Context, c *Client) error {
			return first(c.ListWebhookDeliveries(ctx, 7, "failed"))
		}},
		"POST /webhook-endpoints/7/deliveries/9/retry": {http.StatusOK, func(ctx context.Context, c *Client) error {
			_, err := c.RetryWebhookDelivery(ctx, 7, 9)
			return err
		}},
	} {
		client, s := newClient(t, responds(c.status, `{"id": 7, "data": [], "secret": "whsec_1"}`))
		if err := c.call(t.Context(), client); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got := strings.TrimSpace(s.sent[0].method + " " + s.sent[0].path + " " + s.sent[0].body); got != want || s.sent[0].key != "" {
			t.Errorf("sent %s with the key %q, want %s", got, s.sent[0].key, want)
		}
	}
}
