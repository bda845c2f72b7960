package client

import (
	"context"
	"iter"
	"net/url"

	"example.com/orders/kit/client/api"
)

// CreateWebhookEndpoint creates a webhook endpoint for the seller's events, or for an
// administrator those about all sellers. Keep the secret: it verifies the events.
func (c *Client) CreateWebhookEndpoint(ctx context.Context, endpoint NewWebhookEndpoint) (WebhookEndpointWithSecret, error) {
	made, _, err := call[WebhookEndpointWithSecret](ctx, c, to(api.CreateWebhookEndpoint).with(endpoint))
	return made, err
}

// ListWebhookEndpoints returns the webhook endpoints that the caller may use, newest first.
func (c *Client) ListWebhookEndpoints(ctx context.Context) iter.Seq2[WebhookEndpoint, error] {
	return pages[WebhookEndpoint](ctx, c, to(api.ListWebhookEndpoints), url.Values{})
}

// GetWebhookEndpoint returns a webhook endpoint.
func (c *Client) GetWebhookEndpoint(ctx context.Context, endpointID int64) (WebhookEndpoint, error) {
	endpoint, _, err := call[WebhookEndpoint](ctx, c, to(api.GetWebhookEndpoint, endpointID))
	return endpoint, err
}

// UpdateWebhookEndpoint changes a webhook endpoint.
func (c *Client) UpdateWebhookEndpoint(ctx context.Context, endpointID int64, update WebhookEndpointUpdate) (WebhookEndpoint, error) {
	endpoint, _, err := call[WebhookEndpoint](ctx, c, to(api.UpdateWebhookEndpoint, endpointID).with(update))
	return endpoint, err
}

// DeleteWebhookEndpoint deletes a webhook endpoint with its deliveries.
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, endpointID int64) error {
	_, _, err := call[struct{}](ctx, c, to(api.DeleteWebhookEndpoint, endpointID))
	return err
}

// RotateWebhookSecret replaces a webhook endpoint's secret. The previous one signs as
// well for 24 hours.
func (c *Client) RotateWebhookSecret(ctx context.Context, endpointID int64) (WebhookEndpointWithSecret, error) {
	rotated, _, err := call[WebhookEndpointWithSecret](ctx, c, to(api.RotateWebhookSecret, endpointID))
	return rotated, err
}

// TestWebhookEndpoint queues a test event for a webhook endpoint.
func (c *Client) TestWebhookEndpoint(ctx context.Context, endpointID int64) (WebhookDelivery, error) {
	queued, _, err := call[WebhookDelivery](ctx, c, to(api.TestWebhookEndpoint, endpointID))
	return queued, err
}

// ListWebhookDeliveries returns a webhook endpoint's deliveries, newest first: those
// with a status, or all if it is empty.
func (c *Client) ListWebhookDeliveries(ctx context.Context, endpointID int64, status string) iter.Seq2[WebhookDelivery, error] {
	query := url.Values{}
	set(query, "status", status)
	return pages[WebhookDelivery](ctx, c, to(api.ListWebhookDeliveries, endpointID), query)
}

// RetryWebhookDelivery queues a delivery again, under the same event id.
func (c *Client) RetryWebhookDelivery(ctx context.Context, endpointID, deliveryID int64) (WebhookDelivery, error) {
	queued, _, err := call[WebhookDelivery](ctx, c, to(api.RetryWebhookDelivery, endpointID, deliveryID))
	return queued, err
}
