// Package contracttest holds the traffic of tests against api/openapi.yaml: what the
// service answers is what the file says, to the last header and member, and what the
// service accepts is what the file allows.
package contracttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"example.com/orders/api"
)

// transport are the headers that belong to HTTP and not to the contract.
var transport = []string{
	"Accept-Ranges", "Allow", "Cache-Control", "Connection", "Content-Encoding", "Content-Length",
	"Content-Security-Policy", "Content-Type", "Date", "Etag", "Vary", "X-Content-Type-Options",
}

// Validator knows the contract. It is safe for concurrent use.
type Validator struct {
	doc    *openapi3.T
	router routers.Router
}

// Operation is what the contract says of an operation besides its shapes.
type Operation struct {
	Method string
	Path   string
	ID     string
	// Roles are those that the operation lets in; empty for one without a token.
	Roles []string
	// Idempotent tells that the operation asks for an Idempotency-Key.
	Idempotent bool
}

// New gives the contract, and fails the test if it is not OpenAPI or an example in it
// contradicts its schema.
func New(t testing.TB) *Validator {
	t.Helper()
	v, err := load()
	if err != nil {
		t.Fatalf("read the contract: %v", err)
	}
	return v
}

// load reads the contract once for all tests of a process, for that takes a while.
var load = sync.OnceValues(func() (*Validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // the service under test is anywhere
	closeSchemas(doc)
	router, err := legacy.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	return &Validator{doc: doc, router: router}, nil
})

// closeSchemas forbids members that a schema does not list. The contract lets answers
// grow, so clients have to tolerate them; our own tests have to event.
func closeSchemas(doc *openapi3.T) {
	for _, ref := range doc.Components.Schemas {
		if len(ref.Value.Properties) > 0 {
			ref.Value.AdditionalProperties = openapi3.AdditionalProperties{Has: new(false)}
		}
	}
}

// Operations lists all operations of the contract.
func (v *Validator) Operations() []Operation {
	var all []Operation
	for path, item := range v.doc.Paths.Map() {
		for method, op := range item.Operations() {
			all = append(all, Operation{
				Method: method, Path: path, ID: op.OperationID,
				Roles: rolesOf(op), Idempotent: requiresKey(op),
			})
		}
	}
	return all
}

// requiresKey reports whether an operation has the Idempotency-Key header as a parameter.
func requiresKey(op *openapi3.Operation) bool {
	return op.Parameters.GetByInAndName(openapi3.ParameterInHeader, "Idempotency-Key") != nil
}

func rolesOf(op *openapi3.Operation) []string {
	var roles []string
	list, _ := op.Extensions["x-roles"].([]any)
	for _, role := range list {
		roles = append(roles, fmt.Sprint(role))
	}
	return roles
}

// Check reports what in a response is not as the contract says. Where the service
// accepted the request, the request must be as the contract says, too. The bodies are
// given apart because those of req and resp have been read.
func (v *Validator) Check(t testing.TB, req *http.Request, reqBody []byte, resp *http.Response, respBody []byte) {
	t.Helper()
	if err := v.check(req, reqBody, resp, respBody); err != nil {
		t.Errorf("%s %s: %d is not as the contract says: %v", req.Method, req.URL.Path, resp.StatusCode, err)
	}
}

func (v *Validator) check(req *http.Request, reqBody []byte, resp *http.Response, respBody []byte) error {
	input := v.input(req, reqBody)
	documented := input.Route.Operation.Responses.Status(resp.StatusCode)
	if documented == nil {
		return errors.New("the status is not documented")
	}
	return errors.Join(
		checkAccepted(input, resp.StatusCode),
		checkShape(input, resp, respBody),
		checkHeaders(input.Route.Operation, documented.Value, resp.Header),
		checkBody(documented.Value, resp, respBody),
	)
}

// input finds the operation of a request. A request for which the contract has none
// belongs to one that only refuses.
func (v *Validator) input(req *http.Request, body []byte) *openapi3filter.RequestValidationInput {
	route, params, err := v.findRoute(req)
	if err != nil {
		answers := v.doc.Components.Responses
		route = &routers.Route{Spec: v.doc, Operation: &openapi3.Operation{Responses: openapi3.NewResponses(
			openapi3.WithStatus(http.StatusNotFound, answers["NotFound"]),
			openapi3.WithStatus(http.StatusMethodNotAllowed, answers["MethodNotAllowed"]),
		)}}
	}
	sent := req.Clone(context.Background())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	sent.ContentLength = int64(len(body))
	return &openapi3filter.RequestValidationInput{
		Request: sent, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			MultiError:         true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		},
	}
}

// findRoute matches the path as it was sent: a slash that is encoded does not divide it,
// and no part of it is empty. The library by itself looks at the decoded path.
func (v *Validator) findRoute(req *http.Request) (*routers.Route, map[string]string, error) {
	sent := req.Clone(context.Background())
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

// checkAccepted finds requests that should have been refused.
func checkAccepted(input *openapi3filter.RequestValidationInput, status int) error {
	if status/100 != 2 {
		return nil
	}
	return openapi3filter.ValidateRequest(context.Background(), input)
}

// checkShape leaves to the library what it knows: the media type, the documented
// headers, and the body against its schema.
func checkShape(input *openapi3filter.RequestValidationInput, resp *http.Response, body []byte) error {
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input,
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options:                input.Options,
	})
}

// checkHeaders finds headers that nobody documented. The key of a guarded request is
// echoed in every answer.
func checkHeaders(op *openapi3.Operation, documented *openapi3.Response, header http.Header) error {
	known := slices.Clone(transport)
	for name := range documented.Headers {
		known = append(known, http.CanonicalHeaderKey(name))
	}
	if requiresKey(op) {
		known = append(known, "Idempotency-Key")
	}
	var errs []error
	for name := range header {
		if !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("the header %s is not documented", name))
		}
	}
	return errors.Join(errs...)
}

// checkBody finds bodies where none is documented, and problems that contradict
// themselves or their documentation.
func checkBody(documented *openapi3.Response, resp *http.Response, body []byte) error {
	if len(documented.Content) == 0 && len(body) > 0 {
		return errors.New("the body is not documented")
	}
	if resp.StatusCode < 400 {
		return nil
	}
	var problem struct {
		Type      string
		Code      string
		Status    int
		Retryable bool
	}
	if err := json.Unmarshal(body, &problem); err != nil {
		return fmt.Errorf("read the problem: %w", err)
	}
	// The examples of a response are, by their names, the codes it comes with.
	_, known := documented.Content.Get("application/problem+json").Examples[problem.Code]
	return errors.Join(
		unless(known, "the code %q is not documented with this status", problem.Code),
		unless(problem.Status == resp.StatusCode, "the problem says status %d", problem.Status),
		unless(strings.HasSuffix(problem.Type, "/"+problem.Code), "the type %q is not that of the code", problem.Type),
		unless(problem.Retryable == (resp.Header.Get("Retry-After") != ""), "retryable contradicts Retry-After"),
	)
}

func unless(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
