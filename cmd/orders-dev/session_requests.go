package main

import (
	"fmt"
	"regexp"
	"strings"
)

// The parts of the printed session that become requests.
var (
	sessionVariable = regexp.MustCompile(`^(ORDERS|CUSTOMER|SELLER)=(.*)$`)
	sessionMethod   = regexp.MustCompile(`-X (\w+)`)
	sessionPath     = regexp.MustCompile(`(\$ORDERS[^\s"]*)`)
	sessionToken    = regexp.MustCompile(`Bearer \$(\w+)`)
	sessionBody     = regexp.MustCompile(`-d '([^']*)'`)
)

// requestsOf returns the curl commands in a printed session as a file for editors, in the
// format of the REST Client for Visual Studio Code. Each request has a new key.
func requestsOf(printed string) string {
	var out strings.Builder
	about, orders := "", 0
	for line := range strings.Lines(strings.ReplaceAll(printed, "\\\n", "")) {
		line = strings.TrimSpace(line)
		if name := sessionVariable.FindStringSubmatch(line); name != nil {
			fmt.Fprintf(&out, "@%s = %s\n", name[1], name[2])
		}
		if comment, found := strings.CutPrefix(line, "# "); found {
			about += " " + comment
		}
		if !strings.Contains(line, "curl -sS ") {
			continue
		}
		title, _, _ := strings.Cut(about, ".")
		fmt.Fprintf(&out, "\n###%s\n", title)
		about = ""
		if strings.HasPrefix(line, "ORDER=") {
			orders++
			fmt.Fprintf(&out, "# @name order%d\n", orders)
		}
		writeRequest(&out, line, fmt.Sprintf("{{order%d.response.headers.Location}}", orders))
	}
	return out.String()
}

// writeRequest writes the request of a curl command. order is the path of the last order.
func writeRequest(out *strings.Builder, command, order string) {
	part := func(pattern *regexp.Regexp) string {
		return append(pattern.FindStringSubmatch(command), "", "")[1]
	}
	url := strings.NewReplacer("$ORDERS", "{{ORDERS}}", "$ORDER", order).Replace(part(sessionPath))
	method := part(sessionMethod)
	if method == "" {
		method = "GET"
	}
	fmt.Fprintf(out, "%s %s\nAuthorization: Bearer {{%s}}\n", method, url, part(sessionToken))
	if strings.Contains(command, "Idempotency-Key") {
		out.WriteString("Idempotency-Key: {{$guid}}\n")
	}
	if body := part(sessionBody); body != "" {
		fmt.Fprintf(out, "Content-Type: application/json\n\n%s\n", body)
	}
}
