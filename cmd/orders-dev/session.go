package main

import (
	"crypto/rand"
	_ "embed"
	"io"
	"os"
	"strings"
	"text/template"
	"time"

	devissuer "example.com/orders/internal/dev/issuer"
)

//go:embed session.txt
var sessionText string

var session = template.Must(template.New("session").Parse(sessionText))

// tokenTTL is the token lifetime in the printed session.
const tokenTTL = 24 * time.Hour

// places are the addresses of a run: the service, the database as owner, the broker, the admin
// listener and the file with the requests of the session.
type places struct{ URL, Database, Broker, Admin, Requests string }

// printSession prints the addresses, and commands to paste, which it also writes to a file
// for editors. Keys are new in each run, so that each run makes new orders.
func printSession(out io.Writer, at places, issuer *devissuer.Issuer) error {
	values := map[string]string{
		"URL": at.URL, "Database": at.Database, "Broker": at.Broker, "Admin": at.Admin, "Requests": at.Requests, "Run": rand.Text()[:6],
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
	var text strings.Builder
	if err := session.Execute(&text, values); err != nil {
		return err
	}
	if err := os.WriteFile(at.Requests, []byte(requestsOf(text.String())), 0o600); err != nil {
		return err
	}
	_, err := io.WriteString(out, text.String())
	return err
}
