package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core/webhook"
)

func decodeEndpointID(r *request) (int64, error) { return decodeID(r, "endpoint") }

func decodeCreateEndpoint(r *request) (webhook.CreateEndpoint, error) {
	in, err := bodyOf[wire.CreateWebhookEndpointRequest](r)
	return webhook.CreateEndpoint{
		URL: in.URL, EventTypes: in.EventTypes, Description: valueOf(in.Description), Ordered: valueOf(in.Ordered),
	}, err
}

func decodeUpdateEndpoint(r *request) (webhook.UpdateEndpoint, error) {
	id, err := decodeEndpointID(r)
	if err != nil {
		return webhook.UpdateEndpoint{}, err
	}
	in, err := bodyOf[wire.UpdateWebhookEndpointRequest](r)
	return webhook.UpdateEndpoint{
		ID: id, URL: in.URL, EventTypes: valueOf(in.EventTypes), Description: in.Description, Ordered: in.Ordered, Disabled: in.Disabled,
	}, err
}

func decodeDeliveryFilter(r *request) (webhook.Filter, error) {
	id, err := decodeEndpointID(r)
	if err != nil {
		return webhook.Filter{}, err
	}
	status, err := oneOf(r, "status", webhook.Pending, webhook.Delivered, webhook.Failed)
	return webhook.Filter{EndpointID: id, Status: status}, err
}

func decodeRetryDelivery(r *request) (webhook.RetryDelivery, error) {
	endpointID, noEndpoint := decodeEndpointID(r)
	id, noDelivery := decodeID(r, "delivery")
	return webhook.RetryDelivery{EndpointID: endpointID, DeliveryID: id}, problem.Join(noEndpoint, noDelivery)
}

func showEndpoint(e *webhook.Endpoint) *success {
	return &success{status: http.StatusOK, body: endpointOut(e)}
}

// showSecret shows the endpoint with its new secret.
func showSecret(e *webhook.Endpoint) *success {
	return &success{status: http.StatusOK, body: struct {
		wire.WebhookEndpoint

		Secret string `json:"secret"`
	}{endpointOut(e), e.NewSecret}}
}

func showNewEndpoint(e *webhook.Endpoint) *success {
	done := showSecret(e)
	done.status, done.location = http.StatusCreated, "/webhook-endpoints/"+strconv.FormatInt(e.ID, 10)
	return done
}

func endpointOut(e *webhook.Endpoint) wire.WebhookEndpoint {
	return wire.WebhookEndpoint{
		ID: e.ID, URL: e.URL, EventTypes: e.EventTypes, Description: orNull(e.Description), Ordered: e.Ordered,
		SellerID: orNull(e.SellerID), Disabled: !e.DisabledAt.IsZero(), DisabledReason: orNull(string(e.DisabledReason)),
		FailingSince: timeOrNull(e.FailingSince), CreatedAt: e.CreatedAt,
	}
}

func showDelivery(d *webhook.Delivery) *success {
	return &success{status: http.StatusOK, body: deliveryOut(d)}
}

func showNewDelivery(d *webhook.Delivery) *success {
	return &success{status: http.StatusCreated, body: deliveryOut(d)}
}

func deliveryOut(d *webhook.Delivery) wire.WebhookDelivery {
	out := wire.WebhookDelivery{
		ID: d.ID, EventID: d.EventID, EventType: string(d.EventType), Status: wire.WebhookDeliveryStatus(d.Status),
		Attempts: d.Attempts, NextAttemptAt: timeOrNull(d.NextAttemptAt), ResponseStart: orNull(d.Last.Start),
		Error: (*wire.WebhookDeliveryError)(orNull(string(d.Last.Failure))), CreatedAt: d.CreatedAt, FinishedAt: timeOrNull(d.FinishedAt),
	}
	if d.Last.Status != 0 {
		out.ResponseStatus = &d.Last.Status
	}
	return out
}

// timeOrNull returns nil for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
