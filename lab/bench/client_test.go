package main

import (
	"bufio"
	"strings"
	"testing"
)

// readResponse parses the text as a response from the service.
func readResponse(text string) (response, error) {
	c := &client{r: bufio.NewReader(strings.NewReader(text))}
	return c.read()
}

func TestClient_ReadsOneResponse(t *testing.T) {
	t.Parallel()
	const text = "HTTP/1.1 201 Created\r\nidempotent-replayed: true\r\nContent-Length: 2\r\n\r\n{}"
	const nextResponse = "HTTP/1.1 200"

	got, err := readResponse(text + nextResponse)
	if err != nil {
		t.Fatal(err)
	}
	if got.status != 201 || !got.replayed || string(got.body) != "{}" {
		t.Errorf("got %+v, want a replayed 201 with the body {}", got)
	}
}

func TestClient_RejectsInvalidResponses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no response":            "",
		"incomplete status line": "HTTP/1.1 2",
		"other version":          "HTTP/1.0 201 Created\r\n\r\n",
		"no length":              "HTTP/1.1 201 Created\r\n\r\n",
		"body too short":         "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\n{}",
		"length not a number":    "HTTP/1.1 201 Created\r\nContent-Length: x\r\n\r\n",
	} {
		if got, err := readResponse(text); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func TestCommandCheck_AcceptsOnlyTheExpectedResponse(t *testing.T) {
	t.Parallel()
	replay := command{status: 201, replayed: true}
	if err := replay.check(response{status: 201, replayed: true}); err != nil {
		t.Error(err)
	}
	for _, unexpected := range []response{
		{status: 201}, // not a replay
		{status: 200, replayed: true},
		{status: 503, replayed: true},
	} {
		if replay.check(unexpected) == nil {
			t.Errorf("accepted %+v", unexpected)
		}
	}
}
