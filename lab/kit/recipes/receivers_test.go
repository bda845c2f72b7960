//go:build node

package recipes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/standard-webhooks/standard-webhooks/libraries/go" // for the program on the page

	"example.com/orders/internal/adapters/out/webhooks"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/outbox"
	testport "example.com/orders/internal/test/port"
	testwait "example.com/orders/internal/test/wait"
)

const (
	secret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newer  = "whsec_" + "bmV3ZXIgc2VjcmV0IG9mIGEgdGVzdCAuLi4uLi4="
)

// language says how to run a program: the file of the text, the commands that check for
// its needs, build it from the folder DIR, and run it there, and its database.
type language struct {
	file, needs, build, run string
	database                func(t *testing.T, dir string) (query func(t *testing.T, sql string) string, env []string)
}

var languages = map[string]language{
	"go": {"main.go", "go version", `go build -o "$DIR/receiver" "$DIR/main.go"`, "./receiver", postgres},
	"ts": {
		"receiver.mts", "node --version", `ln -s "$PWD/node_modules" "$DIR" && cd "$DIR" &&
			node node_modules/typescript/bin/tsc --strict --target es2022 --module nodenext receiver.mts`, "node receiver.mjs", postgres,
	},
	"python": {"receiver.py", "python3 -c 'import sqlite3'", "true", "python3 receiver.py", sqlite},
}

// receiver is a running program of the page.
type receiver struct {
	url string
	// query executes SQL in the database of the program, and returns the first value.
	query func(t *testing.T, sql string) string
}

// The programs of kit/webhooks get requests of the service's sender.
func TestReceivers_TakeEachEventOnce(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../kit/webhooks/README.md")
	programs := recipe.FindAllStringSubmatch(string(page), -1)
	_, schema, hasSchema := strings.Cut(string(page), "```sql\n")
	schema, _, _ = strings.Cut(schema, "```")
	if err != nil || !hasSchema || len(programs) != len(languages) {
		t.Fatalf("the page has %d programs, a schema: %t, err = %v", len(programs), hasSchema, err)
	}
	for _, program := range programs {
		t.Run(program[1], func(t *testing.T) {
			t.Parallel()
			r := startReceiver(t, languages[program[2]], program[3], schema)
			wantEffects(t, r)
			wantEventWhoseEffectFailed(t, r)
			wantOneEffectOfMany(t, r)
			wantRefusals(t, r)
		})
	}
}

func wantEffects(t *testing.T, r receiver) {
	t.Helper()
	first, second := uuid.NewString(), uuid.NewString()
	for _, step := range []struct {
		name         string
		send         attempt
		want, effect int
	}{
		{"an event", attempt{id: first}, 204, 1},
		{"a repeat", attempt{id: first}, 204, 1},
		{"an unknown secret", attempt{secrets: []string{newer}}, 400, 1},
		{"an old timestamp", attempt{age: time.Hour}, 400, 1},
		{"a timestamp in the future", attempt{age: -time.Hour}, 400, 1},
		{"an ignored type", attempt{kind: "webhook_endpoint.test"}, 204, 1},
		{"both secrets, after a rotation", attempt{id: second, secrets: []string{newer, secret}}, 204, 2},
		{"a repeat by one of them", attempt{id: second}, 204, 2},
	} {
		step.send.order = 17
		got := step.send.to(t, r)
		if effect := r.parcels(t, 17); got.Status != step.want || effect != fmt.Sprint(step.effect) {
			t.Errorf("%s: status %d (%s), %s parcels; want %d, %d", step.name, got.Status, got.Failure, effect, step.want, step.effect)
		}
	}
}

// If the inbox kept the ID of an effect that failed, the event would be lost.
func wantEventWhoseEffectFailed(t *testing.T, r receiver) {
	t.Helper()
	event := attempt{id: uuid.NewString(), order: 18}
	r.query(t, "ALTER TABLE parcel RENAME TO unreachable")
	if got := event.to(t, r); got.Failure == "" {
		t.Errorf("an event whose effect failed was accepted with status %d", got.Status)
	}
	r.query(t, "ALTER TABLE unreachable RENAME TO parcel")
	if got := event.to(t, r); got.Status != http.StatusNoContent || r.parcels(t, 18) != "1" {
		t.Errorf("then: status %d, %s parcels", got.Status, r.parcels(t, 18))
	}
}

func wantOneEffectOfMany(t *testing.T, r receiver) {
	t.Helper()
	event := attempt{id: uuid.NewString(), order: 19}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := event.to(t, r); got.Status != http.StatusNoContent {
				t.Errorf("one of many at the same time: %+v", got)
			}
		})
	}
	all.Wait()
	if got := r.parcels(t, 19); got != "1" {
		t.Errorf("many at the same time: %s parcels", got)
	}
}

// Strangers send anything. The sender never sends these.
func wantRefusals(t *testing.T, r receiver) {
	t.Helper()
	for _, signature := range []string{"", "v1", "v1,", "v1,%", ",", "v2,AAAA", "v1,AAAA v1"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("webhook-id", "1")
		request.Header.Set("webhook-timestamp", fmt.Sprint(time.Now().Unix()))
		request.Header.Set("webhook-signature", signature)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Errorf("the signature %q: %v", signature, err)
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("the signature %q: status %d", signature, response.StatusCode)
		}
	}
}

// attempt is a request of the service: about a paid order with a new ID, signed now with
// the secret, unless it says otherwise.
type attempt struct {
	id, kind string
	order    int
	secrets  []string
	age      time.Duration
}

func (a attempt) to(t *testing.T, r receiver) webhook.Outcome {
	t.Helper()
	event := outbox.Event{
		ID: a.id, Source: "/shop", Type: "order.paid", Aggregate: "order/17", Version: 1, At: time.Now(),
		Data: fmt.Appendf(nil, `{"order_id":%d}`, a.order),
	}
	if a.id == "" {
		event.ID = uuid.NewString()
	}
	if a.kind != "" {
		event.Type = a.kind
	}
	if a.secrets == nil {
		a.secrets = []string{secret}
	}
	body, err := event.CloudEvent()
	if err != nil {
		t.Error(err)
	}
	sender := webhooks.New(true, func() time.Time { return time.Now().Add(-a.age) }, func(string) {})
	return sender.Send(t.Context(), webhook.Attempt{URL: r.url, Secrets: a.secrets, EventID: event.ID, Body: string(body)})
}

func (r receiver) parcels(t *testing.T, order int) string {
	t.Helper()
	return r.query(t, fmt.Sprintf("SELECT count(*) FROM parcel WHERE order_id = %d", order))
}

// startReceiver starts a program with an empty database, and waits until it listens.
func startReceiver(t *testing.T, l language, text, schema string) receiver {
	t.Helper()
	dir := t.TempDir()
	if output, err := exec.CommandContext(t.Context(), "sh", "-c", l.needs).CombinedOutput(); err != nil {
		t.Skipf("NOT CHECKED: %s: %s", l.needs, output)
	}
	if err := os.WriteFile(filepath.Join(dir, l.file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "sh", "-c", l.build)
	build.Env = append(os.Environ(), "DIR="+dir)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, output)
	}
	query, env := l.database(t, dir)
	query(t, schema)
	port := fmt.Sprint(testport.Free(t))
	address := net.JoinHostPort("127.0.0.1", port)
	run := func(secret string) (exited chan struct{}) {
		cmd, exited := exec.CommandContext(t.Context(), "sh", "-c", "exec "+l.run), make(chan struct{})
		cmd.Dir, cmd.Stderr = dir, t.Output()
		cmd.Env = append(append(os.Environ(), env...), "PORT="+port, "WEBHOOK_SECRET="+secret)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { _ = cmd.Wait(); close(exited) }()
		t.Cleanup(func() { _ = cmd.Process.Kill(); <-exited })
		testwait.Until(t, "it listens or exits", func() bool { return isClosed(exited) || listens(t.Context(), address) })
		return exited
	}
	if !isClosed(run("")) {
		t.Fatal("it starts although there is no secret")
	}
	if isClosed(run(secret)) {
		t.Fatal("it does not start")
	}
	return receiver{"http://" + address + "/", query}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func listens(ctx context.Context, address string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}
