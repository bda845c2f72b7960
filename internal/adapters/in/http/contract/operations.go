package contract

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/orders/internal/core"
)

// Operation is an operation as code and contract must agree on it. Values are
// comparable.
type Operation struct {
	Method, Path, ID string
	// roles are sorted and separated by spaces; empty where access is public.
	Roles       string
	Public      bool
	KeyRequired bool
	// KeyKept reports whether the operation documents how long the key is kept.
	KeyKept bool
}

// String describes the operation in an error.
func (op Operation) String() string {
	access, key := "roles "+op.Roles, "no key"
	if op.Public {
		access = "public"
	}
	if op.KeyRequired {
		key = "key required"
	}
	if op.KeyRequired != op.KeyKept {
		key += ", x-idempotency contradicts it"
	}
	return fmt.Sprintf("%s %s (%s): %s, %s", op.Method, op.Path, op.ID, access, key)
}

// JoinRoles returns the roles in a form that does not depend on their order.
func JoinRoles(roles []core.Role) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// CheckOperations returns an error unless the routes are exactly the operations of the
// contract: method, path, operationId, roles and whether a key is required.
func (c *Contract) CheckOperations(routes []Operation) error {
	var errs []error
	for _, op := range c.operations {
		if !slices.Contains(routes, op) {
			errs = append(errs, fmt.Errorf("no route is as the contract says: %s", op))
		}
	}
	for _, op := range routes {
		if !slices.Contains(c.operations, op) {
			errs = append(errs, fmt.Errorf("the contract has no operation as this route: %s", op))
		}
	}
	return errors.Join(errs...)
}

// The parts of an OpenAPI document that describe how to reach an operation, and who
// may.
type (
	openAPI struct {
		Paths      map[string]pathItem
		Components struct {
			Parameters map[string]parameter
			Schemas    map[string]yaml.Node
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
		// Idempotency is absent where no key is required. Tests read the members.
		Idempotency map[string]any `yaml:"x-idempotency"`
		// Security is empty, and not absent, where access is public.
		Security    *[]any
		RequestBody requestBody `yaml:"requestBody"`
	}

	// discriminator names a member, and the schema of the object for each value of it.
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

func (item pathItem) operations() map[string]*operationObject {
	found := map[string]*operationObject{
		http.MethodGet: item.Get, http.MethodPut: item.Put, http.MethodPost: item.Post,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete, http.MethodHead: item.Head,
		http.MethodOptions: item.Options, http.MethodTrace: item.Trace,
	}
	for method, op := range found {
		if op == nil {
			delete(found, method)
		}
	}
	return found
}

func (doc openAPI) operations() []Operation {
	var all []Operation
	for path, item := range doc.Paths {
		for method, op := range item.operations() {
			all = append(all, Operation{
				Method: method, Path: path, ID: op.ID,
				Roles:       JoinRoles(op.Roles),
				Public:      op.Security != nil && len(*op.Security) == 0,
				KeyRequired: doc.hasKeyHeader(item.Parameters) || doc.hasKeyHeader(op.Parameters),
				KeyKept:     op.Idempotency != nil,
			})
		}
	}
	return all
}

// hasKeyHeader reports whether a parameter is the Idempotency-Key header.
func (doc openAPI) hasKeyHeader(parameters []parameter) bool {
	return slices.ContainsFunc(parameters, func(p parameter) bool {
		p = doc.resolve(p)
		return p.In == "header" && http.CanonicalHeaderKey(p.Name) == "Idempotency-Key"
	})
}

// queryParameters returns the query parameters' names.
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
