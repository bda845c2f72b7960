package main

import (
	"crypto/rand"
	_ "embed"
	"io"
	"text/template"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
)

//go:embed session.txt
var sessionText string

var session = template.Must(template.New("session").Parse(sessionText))

// tokenTTL is how long the tokens of the printed session are valid.
const tokenTTL = 24 * time.Hour

// printSession prints commands to paste. Their keys are new in each run, so that each
// run makes orders of its own.
func printSession(out io.Writer, url string, issuer *devissuer.Issuer) error {
	values := map[string]string{"URL": url, "Run": rand.Text()[:6]}
	for _, who := range []struct{ name, sub, role string }{
		{"Customer", seedCustomer, "customer"},
		{"Seller", seedSeller, "seller"},
	} {
		signed, err := issuer.Token(who.sub, []string{who.role}, tokenTTL)
		if err != nil {
			return err
		}
		values[who.name] = signed
	}
	return session.Execute(out, values)
}
