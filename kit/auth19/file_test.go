package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/orders/kit/guard/routetest/probe"
)

// write writes a file into a new folder and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "auth19.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const small = `server: http://127.0.0.1:1
do: {path: /charges, body: {amount: 100}}
effects: {get: /charges, pointer: /data}
`

// smallAt writes the small description for a server at a URL, with more members.
func smallAt(t *testing.T, url, more string) string {
	t.Helper()
	return write(t, strings.Replace(small, "http://127.0.0.1:1", url, 1)+more)
}

// An error names the line, and what is allowed there.
func TestParse_NamesLineAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "auth19.yaml: the file is empty; `auth19 init` writes one",
		"server: [":                       "auth19.yaml: yaml: line 1",
		"do: {path: /x}\n" + "servers: x": `auth19.yaml:2: unknown member "servers" of the file; allowed: before, do, effects, empty,`,
		small + "profile: stripe":         `auth19.yaml:4: "stripe" is not a profile; allowed: acp, auth-19, draft-07, paypal, stripe-v1, stripe-v2, ucp`,
		small + "known: [A, Z]":           `auth19.yaml:4: "Z" is not a probe; allowed: A, D, G,`,
		small + "store: {down: {exec: x}, up: {exec: y}}": `auth19.yaml:4: store: expected commands as text: {down: "…", up: "…"}`,
		small + "timeout: soon":                           `auth19.yaml:4: "soon": expected a duration, such as 30s`,
		small + "kill: rm":                                `auth19.yaml:4: a command: expected an object with the members exec`,
		small + "kill: {exec: a}\nkill: {}":               `auth19.yaml:5: a second member "kill" of the file`,
		small + "hold: {before: {await: x}}":              `auth19.yaml:4: expected either headers, or exec with release`,
		small + "hold: {before: {exec: x}}":               `auth19.yaml:4: expected either headers, or exec with release`,
		small + "fail: {after: {exec: x}}":                `auth19.yaml:4: expected either headers, or exec with undo`,
		small + "kill: {exec: x}":                         `start is missing: after kill, a command such as start: {exec: ./start} must bring the process back`,
		small + "principals: {a: {T: x}, b: {T: x}}":      `auth19.yaml:4: principals: a and b have the same headers; expected two callers`,
		small + "other: {path: x}":                        `auth19.yaml:4: "x": expected a path that begins with /`,
		small + "other: {body: \"${cart}\"}":              `auth19.yaml:4: ${cart}: not set; available: ${unique}, ${canary}, ${key}`,
		small + "before: {path: /x, as: c}":               `auth19.yaml:4: "c" is not a principal; allowed:`,
		"server: http://a\ndo: {path: /x}":                `auth19.yaml:1: effects is missing`,
		"effects: {get: /x, exec: y}":                     `auth19.yaml:1: effects: expected either get, with a pointer to a number or a list, or exec`,
		"server: localhost\ndo: {path: /x}":               `auth19.yaml:1: "localhost": expected a URL, such as http://127.0.0.1:8080`,
		"server: http://me:secret@a":                      `auth19.yaml:1: expected a URL without user and password; put them into principals, such as a: {Authorization: Basic …}`,
		"server: http://a?b":                              `auth19.yaml:1: "http://a?b": expected a URL, such as http://127.0.0.1:8080`,
		small + "other: {path: \"/x/{id}\"}":              `auth19.yaml:4: "/x/{id}": put a value in place of {id}, or capture one in before and write ${id}`,
		"do: POST /charges":                               `auth19.yaml:1: a request: expected an object with the members as, body, capture, headers, method, path, such as {path: /charges, body: {amount: 100}}`,
		"effects: /charges":                               `auth19.yaml:1: effects: expected an object with the members as, exec, get, pointer, such as {get: /charges, pointer: /data}`,
		"principals: {a: Bearer x}":                       `auth19.yaml:1: the principal: expected names and values, such as {Authorization: Bearer …}`,
		"effects: {get: /x, pointer: data}":               `auth19.yaml:1: "data": expected a JSON pointer that begins with /, such as /data`,
		"before: {path: /x, capture: {cart: id}}":         `auth19.yaml:1: "id": expected a JSON pointer that begins with /, such as /data`,
		"do: {path: /x, method: [POST]}":                  `auth19.yaml:1: expected a text, not a list, an object or an empty value`,
		"effects: {get: x}":                               `auth19.yaml:1: "x": expected a path that begins with /`,
		"server: [http://a,http://b,http://c]":            `auth19.yaml:1: 3 servers; expected one URL, or those of two processes`,
	} {
		_, err := parse(write(t, text))
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%q: %v, want %q once", text, err, want)
		}
	}
}

func TestFile_BecomesRequests(t *testing.T) {
	t.Parallel()
	f, err := parse(write(t, small+`
principals: {a: {Authorization: "Bearer $(printf secret)-a"}}
other: {headers: {X-Shop: "${unique}"}, body: {b: [1.50, true, null, "${n}"], a: "n is ${n}"}}
before: {path: /carts, capture: {n: /id}}
`))
	if err != nil {
		t.Fatal(err)
	}
	target, err := f.target(t.Context(), 7)
	if err != nil || f.Principals["a"].Get("Authorization") != "Bearer secret-a" || target.Secrets["secret-a"] != "a" {
		t.Errorf("principals = %v, secrets = %q, err = %v", f.Principals, target.Secrets, err)
	}
	v := values{"n": []byte("12"), "unique": []byte(`"u1"`)}
	got := v.request(*f.Other, f.Do)
	want := probe.Request{Method: "POST", Path: "/charges", Body: `{"b":[1.50,true,null,12],"a":"n is 12"}`, Header: http.Header{"X-Shop": {"u1"}}}
	if got.Body != want.Body || got.Path != want.Path || got.Method != want.Method || got.Header.Get("X-Shop") != "u1" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPointed_CountsNumbersAndLists(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]int{"/data": 2, "/page/total": 40, "/data/1/n": 7, "/a~1b": 3} {
		raw, err := pointed([]byte(`{"data": [{}, {"n": 7}], "page": {"total": 40}, "a/b": 3}`), pointer)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := number(raw); n != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", pointer, n, err, want)
		}
	}
	if _, err := pointed([]byte(`{"data": []}`), "/datum"); err == nil {
		t.Error("a pointer to nothing was followed")
	}
	if _, err := number([]byte(`"many"`)); err == nil {
		t.Error("a text was counted")
	}
}

// A hook may leave a process running.
func TestShell_DoesNotWaitForWhatItLeavesRunning(t *testing.T) {
	t.Parallel()
	f := &file{path: write(t, small), Timeout: time.Minute}
	out, err := f.shell(t.Context(), "sleep 60 & echo a warning >&2; echo $!", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.shell(t.Context(), "kill "+out, nil); err != nil {
		t.Error(err)
	}
	if _, err := f.shell(t.Context(), "echo token; echo why >&2; exit 3", nil); err == nil || !strings.HasSuffix(err.Error(), ": why") {
		t.Errorf("the failure is %v, want its reason", err)
	}
}
