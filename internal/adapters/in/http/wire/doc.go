// Package wire holds the shapes of requests and responses, generated from
// api/openapi.yaml. The core has shapes of its own; the HTTP adapter translates between
// the two.
package wire

//go:generate go tool -modfile=../../../../../tools.mod oapi-codegen -config config.yaml ../../../../../api/openapi.yaml
