package httpapi

import "example.com/orders/internal/core"

const (
	customer = core.Customer
	seller   = core.Seller
	admin    = core.Admin
	system   = core.System
)

// routes returns every operation that needs a token. Whatever moves money is guarded.
func (a *api) routes() []route {
	roles := func(r ...core.Role) []core.Role { return r }
	return []route{
		{"POST", "/entries", "createEntry", guarded, roles(customer), handle(decodeCreateEntry, a.createEntry)},
		{"GET", "/entries/{entry_id}", "getEntry", repeatable, roles(customer, admin), handle(decodeEntryID, a.getEntry)},

		{"GET", "/idempotency-keys/{key}", "getIdempotencyKey", repeatable, roles(customer, seller, admin, system), handle(decodeKeyID, a.getIdempotencyKey)},
		{"GET", "/admin/audit-log", "listAuditLog", repeatable, roles(admin), handle(decodePage, a.listAuditLog)},
	}
}

// publicRoutes returns every operation without a token.
func (a *api) publicRoutes() []publicRoute {
	return []publicRoute{
		{"GET", "/health/live", "getLiveness", a.endpoint(a.getLiveness)},
		{"GET", "/health/ready", "getReadiness", a.endpoint(a.getReadiness)},
		{"GET", "/openapi.yaml", "getOpenAPI", a.getOpenAPI},
		{"GET", "/docs", "getDocs", a.getDocs},
		{"GET", "/docs/{asset}", "getDocsAsset", a.getDocsAsset},
	}
}
