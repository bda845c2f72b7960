// Package contracttest checks test requests and responses against api/openapi.yaml:
// every response is documented, to the last header and member, and the service accepts
// no request that the file forbids.
package contracttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"example.com/orders/api"
)

// transport lists the headers that belong to HTTP and not to the contract.
var transport = []string{
	"Accept-Ranges", "Allow", "Cache-Control", "Connection", "Content-Encoding", "Content-Length",
	"Content-Security-Policy", "Content-Type", "Date", "Etag", "Referrer-Policy", "Strict-Transport-Security", "Vary",
	"X-Content-Type-Options", "X-Frame-Options",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
}

// Validator checks against the contract. It is safe for concurrent use.
type Validator struct {
	doc     *openapi3.T
	router  routers.Router
	schemas *schemas
}

// Operation is a contract operation; schemas are left out.
type Operation struct {
	Method string
	Path   string
	ID     string
	// Roles may call the operation; empty for a public one.
	Roles []string
	// Idempotent reports whether the operation requires an Idempotency-Key.
	Idempotent bool
}

// New returns the validator. It fails the test if the contract is not OpenAPI.
func New(t testing.TB) *Validator {
	t.Helper()
	v, err := load()
	if err != nil {
		t.Fatalf("read the contract: %v", err)
	}
	return v
}

// load parses the contract once per process, because that is slow.
var load = sync.OnceValues(func() (*Validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // the service under test has any address
	closeSchemas(doc)
	// Nearly all of the time would be spent on the examples. They have a test.
	router, err := legacy.NewRouter(doc, openapi3.DisableExamplesValidation())
	if err != nil {
		return nil, err
	}
	schemas, err := newSchemas(doc)
	if err != nil {
		return nil, err
	}
	return &Validator{doc: doc, router: router, schemas: schemas}, nil
})

// closeSchemas forbids members and values that a schema does not list. Responses may
// gain both, so clients must not rely on the lists, but our tests must notice
// undocumented ones.
func closeSchemas(doc *openapi3.T) {
	for _, ref := range doc.Components.Schemas {
		if values, extensible := ref.Value.Extensions["x-extensible-enum"].([]any); extensible {
			ref.Value.Enum = values
		}
		if len(ref.Value.Properties) > 0 {
			ref.Value.AdditionalProperties = openapi3.AdditionalProperties{Has: new(false)}
		}
	}
}

// Document returns the contract, with closed schemas.
func (v *Validator) Document() *openapi3.T { return v.doc }

// Allows reports whether a value follows a contract schema.
func (v *Validator) Allows(schema *openapi3.SchemaRef, value any) bool {
	return v.schemas.validate(schema, value) == nil
}

// Operations returns all operations in the contract.
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

// Reporter is the subset of [testing.TB] that reports failures.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check reports each way in which a response contradicts the contract. If the service
// accepted the request, the request must also follow the contract. The bodies are
// separate arguments because those in req and resp have been read.
func (v *Validator) Check(t Reporter, req *http.Request, reqBody []byte, resp *http.Response, respBody []byte) {
	t.Helper()
	if err := v.check(req, reqBody, resp, respBody); err != nil {
		t.Errorf("%s %s: the response %d contradicts the contract: %v", req.Method, req.URL.Path, resp.StatusCode, err)
	}
}

func (v *Validator) check(req *http.Request, reqBody []byte, resp *http.Response, respBody []byte) error {
	sent := v.resolve(req)
	documented := documentedResponse(sent.operation, resp.StatusCode)
	if documented == nil {
		return errors.New("the status is not documented")
	}
	if req.Method == http.MethodHead {
		return errors.Join(
			v.checkHeaderValues(documented.Value, resp.Header),
			checkHeaders(sent.operation, documented.Value, resp.Header),
			unless(len(respBody) == 0, "HEAD has a body"),
		)
	}
	return errors.Join(
		v.checkAccepted(sent, reqBody, resp.StatusCode),
		v.checkHeaderValues(documented.Value, resp.Header),
		v.checkMedia(documented.Value, resp, respBody),
		checkHeaders(sent.operation, documented.Value, resp.Header),
		checkBody(sent.operation, documented.Value, resp, respBody),
	)
}

// documentedResponse returns the contract response for a status, or nil. The default
// is a problem, so it describes no success.
func documentedResponse(op *openapi3.Operation, status int) *openapi3.ResponseRef {
	if documented := op.Responses.Status(status); documented != nil || status < http.StatusBadRequest {
		return documented
	}
	return op.Responses.Default()
}

// checkHeaderValues returns an error for each documented header that is required but
// absent, or that has a value its schema does not allow.
func (v *Validator) checkHeaderValues(documented *openapi3.Response, header http.Header) error {
	var errs []error
	for name, ref := range documented.Headers {
		values := header.Values(name)
		switch {
		case len(values) > 0:
			errs = append(errs, v.schemas.checkText("header "+name, ref.Value.Schema, values[0]))
		case ref.Value.Required:
			errs = append(errs, fmt.Errorf("the header %s is missing", name))
		}
	}
	return errors.Join(errs...)
}

// checkMedia returns an error for an undocumented media type or a body that its schema
// does not allow.
func (v *Validator) checkMedia(documented *openapi3.Response, resp *http.Response, body []byte) error {
	if len(documented.Content) == 0 {
		return nil
	}
	return v.schemas.check(documented.Content, resp.Header.Get("Content-Type"), body)
}

// checkHeaders returns an error for each undocumented header. Every response to a
// guarded request echoes its key.
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

// checkBody returns an error for an undocumented body, and for a problem document that
// contradicts itself or the contract.
func checkBody(op *openapi3.Operation, documented *openapi3.Response, resp *http.Response, body []byte) error {
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
		NextKey   string `json:"next_key"`
	}
	if err := json.Unmarshal(body, &problem); err != nil {
		return fmt.Errorf("parse the problem: %w", err)
	}
	return errors.Join(
		unless(hasCode(documented, problem.Code, resp.StatusCode), "the code %q is not documented with this status", problem.Code),
		unless(problem.Status == resp.StatusCode, "the problem has status %d", problem.Status),
		unless(strings.HasSuffix(problem.Type, "/"+problem.Code), "the type %q belongs to another code", problem.Type),
		unless(problem.Retryable == (resp.Header.Get("Retry-After") != ""), "retryable contradicts Retry-After"),
		unless(problem.NextKey == nextKey(op, resp.Header, problem.Code), "the code %s has the wrong next_key %q", problem.Code, problem.NextKey),
	)
}

// hasCode reports whether a response can be a problem with a code and a status. Its
// examples are named by the codes that it can have, and each example has the status.
func hasCode(documented *openapi3.Response, code string, status int) bool {
	example, known := documented.Content.Get("application/problem+json").Examples[code]
	if !known {
		return false
	}
	shown, _ := example.Value.Value.(map[string]any)
	return fmt.Sprint(shown["status"]) == strconv.Itoa(status)
}

// nextKey returns the key that a further attempt needs, "" where the operation takes no
// key, otherwise the same, unless a stored refusal, which has an Idempotency-Result,
// decided the operation.
func nextKey(op *openapi3.Operation, header http.Header, code string) string {
	switch {
	case !requiresKey(op):
		return ""
	case code == "idempotency_key_reused":
		return "look_up"
	case code == "idempotency_key_spent", header.Get("Idempotency-Result") != "":
		return "new"
	}
	return "same"
}

func unless(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
