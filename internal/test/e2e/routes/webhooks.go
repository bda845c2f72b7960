package routes

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// sellersOwn is a list in which each seller sees what is theirs.
var sellersOwn = Access{Customer: nobody, Seller: everybody, Admin: onRecord, System: nobody}

var webhookRoutes = map[string]Route{
	"createWebhookEndpoint": {Prepare: createEndpoint, Access: sellersOwn},
	"listWebhookEndpoints":  {Prepare: readPath("/webhook-endpoints"), Access: sellersOwn},
	"getWebhookEndpoint":    {Prepare: onEndpoint("", "", http.StatusOK), Access: productOwners},
	"updateWebhookEndpoint": {Prepare: onEndpoint("", `{"ordered": true}`, http.StatusOK), Access: productOwners},
	"deleteWebhookEndpoint": {Prepare: onEndpoint("", "", http.StatusNoContent), Access: productOwners},
	"rotateWebhookSecret":   {Prepare: onEndpoint("/rotate-secret", "", http.StatusOK), Access: productOwners},
	"testWebhookEndpoint":   {Prepare: onEndpoint("/test", "", http.StatusCreated), Access: productOwners},
	"listWebhookDeliveries": {Prepare: onEndpoint("/deliveries", "", http.StatusOK), Access: productOwners},
	"retryWebhookDelivery":  {Prepare: retryDelivery, Access: productOwners},
}

// EndpointBody is a body with which any seller can create an endpoint.
const EndpointBody = `{"url": "https://hooks.example/orders", "event_types": ["order.*"], "description": "the shop"}`

func createEndpoint(_ testing.TB, s *e2e.Service) Command {
	return Command{
		Seller: s.UniqueName("seller"), Call: e2e.Call{Path: "/webhook-endpoints", Body: EndpointBody}, Status: http.StatusCreated,
	}
}

// onEndpoint prepares a request about an endpoint of a seller.
func onEndpoint(below, body string, status int) func(testing.TB, *e2e.Service) Command {
	return func(t testing.TB, s *e2e.Service) Command {
		t.Helper()
		c := createEndpoint(t, s)
		made := e2e.Want[struct{ ID int }](t, s, http.StatusCreated, e2e.Call{
			Method: http.MethodPost, Path: c.Call.Path, Token: s.Token(t, c.Seller, "seller"), Body: EndpointBody,
		})
		c.Call.Path, c.Call.Body, c.Status = fmt.Sprintf("%s/%d%s", c.Call.Path, made.ID, below), body, status
		return c
	}
}

func retryDelivery(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c := onEndpoint("/test", "", http.StatusOK)(t, s)
	queued := e2e.Want[struct{ ID int }](t, s, http.StatusCreated, e2e.Call{
		Method: http.MethodPost, Path: c.Call.Path, Token: s.Token(t, c.Seller, "seller"),
	})
	c.Call.Path = fmt.Sprintf("%s/deliveries/%d/retry", c.Call.Path[:len(c.Call.Path)-len("/test")], queued.ID)
	return c
}
