// Command bare is the least that a net/http server does for a request with a token: it
// verifies each token once, reads the body, and sends one prepared response. Run:
// bare ADDRESS JWKS-URL <RESPONSE
package main

import (
	"bufio"
	"crypto/sha256"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

func main() {
	keys, err := keyfunc.NewDefault([]string{os.Args[2]})
	if err != nil {
		log.Fatal(err)
	}
	prepared, err := http.ReadResponse(bufio.NewReader(os.Stdin), nil) //nolint:bodyclose // it is standard input
	if err != nil {
		log.Fatal(err)
	}
	body, err := io.ReadAll(prepared.Body)
	if err != nil {
		log.Fatal(err)
	}
	prepared.Header.Del("Date")                                                                               // net/http sets it
	var verified sync.Map                                                                                     // tokens, by their hash
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // on loopback
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		hash := sha256.Sum256([]byte(token))
		if _, known := verified.Load(hash); !known {
			if _, err := jwt.Parse(token, keys.Keyfunc); err != nil {
				http.Error(w, "invalid token", http.StatusUnauthorized)
				return
			}
			verified.Store(hash, true)
		}
		if _, err := io.ReadAll(r.Body); err == nil {
			maps.Copy(w.Header(), prepared.Header)
			w.WriteHeader(prepared.StatusCode)
			_, _ = w.Write(body)
		}
	})))
}
