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

// places are the addresses of a run: of the service, of its database as the owner, of its
// broker and of its admin listener.
type places struct{ URL, Database, Broker, Admin string }

// printSession prints where everything is, and commands to paste. Their keys are new in
// each run, so that each run makes orders of its own.
func printSession(out io.Writer, at places, issuer *devissuer.Issuer) error {
	values := map[string]string{
		"URL": at.URL, "Database": at.Database, "Broker": at.Broker, "Admin": at.Admin, "Run": rand.Text()[:6],
	}
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
