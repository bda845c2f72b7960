// Package api embeds the service's contracts.
package api

import _ "embed"

// OpenAPI is openapi.yaml: routes, roles, schemas and responses. The service validates
// each request against it, and the tests each response.
//
//go:embed openapi.yaml
var OpenAPI []byte

// AsyncAPI is asyncapi.yaml: published events, consumed messages and the dead letters.
//
//go:embed asyncapi.yaml
var AsyncAPI []byte
