package httpapi

import "example.com/orders/internal/core"

const (
	customers = core.Customer
	sellers   = core.Seller
	admins    = core.Admin
	systems   = core.System
)

// routes returns every operation that needs a token. Whatever moves money is guarded.
func (a *api) routes() []route {
	roles := func(r ...core.Role) []core.Role { return r }
	return []route{
		{"POST", "/entries", "createEntry", guarded, roles(customers), command(decodeCreateEntry, a.Entries.CreateEntry, showNewEntry)},
		{"GET", "/entries/{entry_id}", "getEntry", repeatable, roles(customers, admins), query(decodeEntryID, a.Entries.GetEntry, showEntry)},

		{"GET", "/idempotency-keys/{key}", "getIdempotencyKey", repeatable, roles(customers, sellers, admins, systems), handle(decodeKeyID, a.getIdempotencyKey)},
		{"GET", "/admin/audit-log", "listAuditLog", repeatable, roles(admins), handle(decodePage, a.listAuditLog)},
	}
}

// publicRoutes returns every operation without a token.
func (a *api) publicRoutes() []publicRoute {
	return []publicRoute{
		{"GET", "/health/live", "getLiveness", a.getLiveness},
		{"GET", "/health/ready", "getReadiness", a.getReadiness},
		{"GET", "/openapi.yaml", "getOpenAPI", a.getDocs},
		{"GET", "/docs", "getDocs", a.getDocs},
		{"GET", "/docs/{asset}", "getDocsAsset", a.getDocs},
	}
}
