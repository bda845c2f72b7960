// Package wire holds the request and response shapes, generated from api/openapi.yaml.
// The core has separate shapes; the HTTP adapter translates between the two. The
// service knows every value that it sends, so extensible value lists become constants
// as enums do.
package wire

//go:generate sh -c "sed s/x-extensible-enum:/enum:/ ../../../../../api/openapi.yaml | go tool -modfile=../../../../../tools.mod oapi-codegen -config config.yaml /dev/stdin"
//go:generate go test -count=1 -run ^TestProblemsPage_IsGenerated$ ../problem -update
