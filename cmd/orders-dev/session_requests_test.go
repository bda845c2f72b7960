package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// wantRequestsToWork sends the requests of the file that orders-dev has written, as an editor
// does: it fills in variables, new keys and the paths of earlier orders.
func wantRequestsToWork(t *testing.T, d *running) {
	t.Helper()
	file := regexp.MustCompile(`REST client: (\S+)\n`).FindStringSubmatch(d.out.String())
	if file == nil {
		t.Fatalf("no file in %s", d.out)
	}
	text, err := os.ReadFile(file[1])
	if err != nil {
		t.Fatal(err)
	}
	variables, requests, _ := strings.Cut(string(text), "\n###")
	known := map[string]string{}
	for _, v := range regexp.MustCompile(`(?m)^@(\w+) = (\S+)$`).FindAllStringSubmatch(variables, -1) {
		known[v[1]] = v[2]
	}
	sent := strings.Split(requests, "\n###")
	for i, request := range sent {
		known["$guid"] = fmt.Sprint("guid-", i)
		request = regexp.MustCompile(`\{\{(.*?)\}\}`).ReplaceAllStringFunc(request, func(name string) string {
			return known[strings.Trim(name, "{}")]
		})
		parts := regexp.MustCompile(`(?s)^[^\n]*\n(?:# @name (\w+)\n)?(\w+) (\S+)\n(.*?)\n(?:\n(.*)\n)?$`).FindStringSubmatch(request)
		if parts == nil {
			t.Fatalf("not a request: %s", request)
		}
		header := http.Header{}
		for line := range strings.Lines(parts[4]) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			header.Set(name, value)
		}
		reply := d.send(t, parts[2], strings.TrimPrefix(parts[3], d.url), header, parts[5])
		if reply.status == 0 || reply.status >= http.StatusMultipleChoices {
			t.Errorf("%s: status %d: %s", request, reply.status, reply.body)
		}
		known[parts[1]+".response.headers.Location"] = reply.header.Get("Location")
	}
	if curls := strings.Count(sessionText, "curl -sS "); len(sent) != curls {
		t.Errorf("%d requests, and the session has %d", len(sent), curls)
	}
}
