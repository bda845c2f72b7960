package routes

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

var otherRoutes = map[string]Route{
	"getCustomerProfile":    {Prepare: profile(""), Access: customerOnly},
	"updateCustomerProfile": {Prepare: profile(ProfileBody), Access: customerOnly},
	"deleteCustomerProfile": {Prepare: deleteProfile, Access: customerOnly},
	"getIdempotencyKey":     {Prepare: getIdempotencyKey, Access: Access{ownKeys, ownKeys, ownKeys, ownKeys, false, 0}},
	"listAuditLog": {
		Prepare: readPath("/admin/audit-log"),
		Access:  Access{Customer: nobody, Seller: nobody, Admin: onRecord, System: nobody},
	},

	"getLiveness":  {Prepare: readPath("/health/live"), Access: public},
	"getReadiness": {Prepare: readPath("/health/ready"), Access: public},
	"getOpenAPI":   {Prepare: readPath("/openapi.yaml"), Access: public},
	"getDocs":      {Prepare: readPath("/docs"), Access: public},
	"getDocsAsset": {Prepare: readPath("/docs/swagger-ui.css"), Access: public},
}

// readPath prepares a request to a path that names no resource with an owner.
func readPath(path string) func(testing.TB, *e2e.Service) Command {
	return func(testing.TB, *e2e.Service) Command {
		return Command{Call: e2e.Call{Path: path}, Status: http.StatusOK}
	}
}

// ProfileBody is a body with which any customer can replace the profile.
const ProfileBody = `{"full_name": "Alice", "email": "alice@example.com", "phone": "+79990000001"}`

func profile(body string) func(testing.TB, *e2e.Service) Command {
	return func(t testing.TB, s *e2e.Service) Command {
		t.Helper()
		customer := s.UniqueName("customer")
		path := fmt.Sprintf("/customers/%s/profile", customer)
		s.MustSend(t, e2e.Call{Method: http.MethodPut, Path: path, Token: s.Token(t, customer, "customer"), Body: ProfileBody})
		return Command{Customer: customer, Call: e2e.Call{Path: path, Body: body}, Status: http.StatusOK}
	}
}

func deleteProfile(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c := profile("")(t, s)
	c.Status = http.StatusNoContent
	return c
}

// getIdempotencyKey looks up a key with which the customer created an order.
func getIdempotencyKey(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	customer, sku, key := s.UniqueName("customer"), s.UniqueName("tea"), s.NewKey()
	s.PutProduct(t, sku, 10)
	s.MustSend(t, s.CreateOrderCall(t, customer, sku, 1).WithKey(key))
	return Command{Customer: customer, Seller: customer, Call: e2e.LookupCall("", key), Status: http.StatusOK}
}
