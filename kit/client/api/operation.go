// Package api is what oapi-codegen makes of api/openapi.yaml for clients: the shapes of
// requests and responses, and a table of the operations. Package client sends them.
package api

import (
	"fmt"
	"net/url"
	"regexp"
)

//go:generate go tool -modfile=../../../tools.mod oapi-codegen -config config.yaml ../../../api/openapi.yaml

// Operation is how an operation of the contract is reached. Path has a placeholder for each
// of its parameters: /orders/{order_id}.
type Operation struct {
	Method, Path string
	// Successes are the statuses of a success.
	Successes []int
	// Member is the first required member of a success. Later versions add required members,
	// which an older service leaves out. It is "" for a success that has no body.
	Member string
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// PathOf returns the path with the parameters filled in, in order.
func (o Operation) PathOf(parameters ...any) string {
	next := 0
	return placeholder.ReplaceAllStringFunc(o.Path, func(string) string {
		value := fmt.Sprint(parameters[next])
		next++
		return url.PathEscape(value)
	})
}
