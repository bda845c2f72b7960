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

// printSession prints commands to paste. Their keys are new in each run.
func printSession(out io.Writer, url string, issuer *devissuer.Issuer) error {
	token, err := issuer.Token("sber-42", []string{"customer"}, 24*time.Hour)
	if err != nil {
		return err
	}
	return session.Execute(out, map[string]string{"URL": url, "Run": rand.Text()[:6], "Customer": token})
}
