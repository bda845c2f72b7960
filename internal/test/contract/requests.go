package contracttest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

type request struct {
	*http.Request
	operation  *openapi3.Operation
	parameters openapi3.Parameters
	path       map[string]string // path parameters
}

// resolve finds a request's operation. A request without one belongs to an operation
// that answers 404 or 405.
func (v *Validator) resolve(req *http.Request) request {
	route, path, err := v.findRoute(req)
	if err != nil {
		responses := v.doc.Components.Responses
		return request{Request: req, operation: &openapi3.Operation{Responses: openapi3.NewResponses(
			openapi3.WithStatus(http.StatusNotFound, responses["NotFound"]),
			openapi3.WithStatus(http.StatusMethodNotAllowed, responses["MethodNotAllowed"]),
		)}}
	}
	return request{
		Request: req, operation: route.Operation, path: path,
		parameters: slices.Concat(route.PathItem.Parameters, route.Operation.Parameters),
	}
}

// findRoute matches the escaped path: an escaped slash does not separate segments, and
// no segment is empty. By itself the library would match the decoded path.
func (v *Validator) findRoute(req *http.Request) (*routers.Route, map[string]string, error) {
	sent := req.Clone(req.Context())
	sent.URL.Path = req.URL.EscapedPath()
	route, params, err := v.router.FindRoute(sent)
	if err != nil {
		return nil, nil, err
	}
	for name, value := range params {
		if value == "" {
			return nil, nil, fmt.Errorf("%s is empty", name)
		}
		if params[name], err = url.PathUnescape(value); err != nil {
			return nil, nil, err
		}
	}
	return route, params, nil
}

func (v *Validator) checkAccepted(sent request, body []byte, status int) error {
	if status/100 != 2 {
		return nil
	}
	if err := errors.Join(v.checkParameters(sent), checkQuery(sent)); err != nil {
		return err
	}
	documented := sent.operation.RequestBody
	switch {
	case documented == nil, len(body) == 0 && !documented.Value.Required:
		return nil
	case len(body) == 0:
		return errors.New("the request has no body, and the contract requires one")
	}
	return v.schemas.check(documented.Value.Content, sent.Header.Get("Content-Type"), body)
}

// checkParameters returns an error for each parameter that is required but absent, or
// that has a value its schema does not allow. The library could do it, but would
// compile each schema on every call.
func (v *Validator) checkParameters(sent request) error {
	var errs []error
	for _, ref := range sent.parameters {
		name := ref.Value.In + " parameter " + ref.Value.Name
		values := sent.values(ref.Value)
		if len(values) == 0 && ref.Value.Required {
			errs = append(errs, fmt.Errorf("the %s is missing", name))
		}
		for _, value := range values {
			errs = append(errs, v.schemas.checkText(name, ref.Value.Schema, value))
		}
	}
	return errors.Join(errs...)
}

func (r request) values(parameter *openapi3.Parameter) []string {
	switch parameter.In {
	case openapi3.ParameterInPath:
		return []string{r.path[parameter.Name]}
	case openapi3.ParameterInQuery:
		return r.URL.Query()[parameter.Name]
	default:
		return r.Header.Values(parameter.Name)
	}
}

// checkQuery returns an error for an undocumented parameter in an accepted query.
// Public operations ignore unknown parameters, because probes and caches add some.
func checkQuery(sent request) error {
	if len(rolesOf(sent.operation)) == 0 {
		return nil
	}
	for name, values := range sent.URL.Query() {
		if sent.operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil || len(values) > 1 {
			return fmt.Errorf("the query has the parameter %s with %d values", name, len(values))
		}
	}
	return nil
}
