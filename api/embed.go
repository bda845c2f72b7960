// Package api holds the contract of the service as files.
package api

import _ "embed"

// OpenAPI is openapi.yaml: the routes, their roles, the shapes of what goes in and
// out, and every answer. Requests are validated against it as they come, and every
// answer the tests see.
//
//go:embed openapi.yaml
var OpenAPI []byte

// AsyncAPI is asyncapi.yaml: the events that leave, the messages that are consumed, and
// where those end that can never be done.
//
//go:embed asyncapi.yaml
var AsyncAPI []byte
