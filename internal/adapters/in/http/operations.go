package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/orders/internal/core"
)

// operation is what code and contract must agree on about one operation. Values are
// comparable.
type operation struct {
	method, path, id string
	// roles are sorted and separated by spaces; none are needed where access is public.
	roles       string
	public      bool
	keyRequired bool
	// keyKept reports whether the operation says what becomes of its key.
	keyKept bool
}

// String describes the operation in an error.
func (op operation) String() string {
	access, key := "roles "+op.roles, "no key"
	if op.public {
		access = "public"
	}
	if op.keyRequired {
		key = "key required"
	}
	if op.keyRequired != op.keyKept {
		key += ", x-idempotency contradicts it"
	}
	return fmt.Sprintf("%s %s (%s): %s, %s", op.method, op.path, op.id, access, key)
}

// joinRoles returns the roles in a form that does not depend on their order.
func joinRoles(roles []core.Role) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// checkOperations returns an error unless the routes are exactly the operations of the
// contract: method, path, operationId, roles and whether a key is required.
func checkOperations(contract, routes []operation) error {
	var errs []error
	for _, op := range contract {
		if !slices.Contains(routes, op) {
			errs = append(errs, fmt.Errorf("no route is as the contract says: %s", op))
		}
	}
	for _, op := range routes {
		if !slices.Contains(contract, op) {
			errs = append(errs, fmt.Errorf("the contract has no operation as this route: %s", op))
		}
	}
	return errors.Join(errs...)
}

// The parts of an OpenAPI document that say how an operation is reached and by whom.
type (
	openAPI struct {
		Paths      map[string]pathItem
		Components struct {
			Parameters map[string]parameter
			Schemas    map[string]struct{ Discriminator discriminator }
		}
	}

	pathItem struct {
		Parameters                                          []parameter
		Get, Put, Post, Patch, Delete, Head, Options, Trace *operationObject
	}

	operationObject struct {
		ID         string `yaml:"operationId"`
		Parameters []parameter
		Roles      []core.Role `yaml:"x-roles"`
		// Idempotency is absent where no key is required. Tests read what it says.
		Idempotency map[string]any `yaml:"x-idempotency"`
		// Security is empty, and not absent, where access is public.
		Security    *[]any
		RequestBody requestBody `yaml:"requestBody"`
	}

	// discriminator names a member, and by its value the schema of the object.
	discriminator struct {
		PropertyName string `yaml:"propertyName"`
		Mapping      map[string]string
	}

	parameter struct {
		Ref      string `yaml:"$ref"`
		Name, In string
	}

	requestBody struct {
		Required bool
		Content  map[string]struct {
			Schema struct {
				Ref string `yaml:"$ref"`
			}
		}
	}
)

// operations returns the operations of a path by method.
func (item pathItem) operations() map[string]*operationObject {
	found := map[string]*operationObject{
		http.MethodGet: item.Get, http.MethodPut: item.Put, http.MethodPost: item.Post, http.MethodPatch: item.Patch,
		http.MethodDelete: item.Delete, http.MethodHead: item.Head, http.MethodOptions: item.Options, http.MethodTrace: item.Trace,
	}
	for method, op := range found {
		if op == nil {
			delete(found, method)
		}
	}
	return found
}

// operations lists the operations of the document.
func (doc openAPI) operations() []operation {
	var all []operation
	for path, item := range doc.Paths {
		for method, op := range item.operations() {
			all = append(all, operation{
				method: method, path: path, id: op.ID,
				roles:       joinRoles(op.Roles),
				public:      op.Security != nil && len(*op.Security) == 0,
				keyRequired: doc.hasKeyHeader(item.Parameters) || doc.hasKeyHeader(op.Parameters),
				keyKept:     op.Idempotency != nil,
			})
		}
	}
	return all
}

// hasKeyHeader reports whether one of the parameters is the Idempotency-Key header.
func (doc openAPI) hasKeyHeader(parameters []parameter) bool {
	return slices.ContainsFunc(parameters, func(p parameter) bool {
		p = doc.resolve(p)
		return p.In == "header" && http.CanonicalHeaderKey(p.Name) == "Idempotency-Key"
	})
}

// queryParameters returns the names of the parameters that belong to the query.
func (doc openAPI) queryParameters(parameters []parameter) []string {
	var names []string
	for _, p := range parameters {
		if p = doc.resolve(p); p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

// resolve returns the parameter that a reference names.
func (doc openAPI) resolve(p parameter) parameter {
	if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
		return doc.Components.Parameters[name]
	}
	return p
}
