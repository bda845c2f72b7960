// Package wire has the shapes of requests and responses as the contract gives them.
// They are generated from api/openapi.yaml; the domain has shapes of its own, and the
// HTTP adapter translates.
package wire

//go:generate go tool -modfile=../../../../../tools.mod oapi-codegen -config config.yaml ../../../../../api/openapi.yaml
