package httpapi

import (
	"net/http"
	"strconv"

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
	id, invalidID := decodeEndpointID(r)
	in, err := bodyOf[wire.UpdateWebhookEndpointRequest](r)
	return webhook.UpdateEndpoint{
		ID: id, URL: in.URL, EventTypes: valueOf(in.EventTypes), Description: in.Description, Ordered: in.Ordered, Disabled: in.Disabled,
	}, problem.Join(invalidID, err)
}

func decodeDeliveryFilter(r *request) (webhook.Filter, error) {
	id, invalidID := decodeEndpointID(r)
	status, err := oneOf(r, "status", webhook.Pending, webhook.Delivered, webhook.Failed)
	return webhook.Filter{EndpointID: id, Status: status}, problem.Join(invalidID, err)
}

func decodeRetryDelivery(r *request) (webhook.RetryDelivery, error) {
	endpointID, invalidEndpoint := decodeEndpointID(r)
	id, err := decodeID(r, "delivery")
	return webhook.RetryDelivery{EndpointID: endpointID, DeliveryID: id}, problem.Join(invalidEndpoint, err)
}

func showEndpoint(e *webhook.Endpoint) *success {
	return &success{status: http.StatusOK, body: endpointOut(e)}
}

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
		FailingSince: orNull(e.FailingSince), CreatedAt: e.CreatedAt,
	}
}

func showDelivery(d *webhook.Delivery) *success {
	return &success{status: http.StatusOK, body: deliveryOut(d)}
}

func showNewDelivery(d *webhook.Delivery) *success {
	return &success{status: http.StatusCreated, body: deliveryOut(d)}
}

func deliveryOut(d *webhook.Delivery) wire.WebhookDelivery {
	return wire.WebhookDelivery{
		ID: d.ID, EventID: d.EventID, EventType: string(d.EventType), Status: wire.WebhookDeliveryStatus(d.Status),
		Attempts: d.Attempts, NextAttemptAt: orNull(d.NextAttemptAt), ResponseStatus: orNull(d.Last.Status),
		ResponseStart: orNull(d.Last.Start), Error: orNull(wire.WebhookDeliveryError(d.Last.Failure)),
		CreatedAt: d.CreatedAt, FinishedAt: orNull(d.FinishedAt),
	}
}
