package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/orders/kit/guard/routetest/probe"
)

// target describes the server of a file to the probes.
func (f *file) target(ctx context.Context, seed uint64) (*probe.Target, error) {
	profile := profiles[f.Profile]
	t := &probe.Target{
		Servers: f.Servers, Profile: profile, Header: profile.Header, Seed: seed, Prepare: f.prepare,
		Secrets: map[string]string{}, Keys: 20, Crowd: 50, Timeout: f.Timeout, Patience: f.Patience, Settle: 250 * time.Millisecond,
	}
	if f.Key != "" {
		t.Header = f.Key
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(f.Principals))) { // what all of them send is a's
		headers := f.Principals[name]
		for field := range headers {
			value, err := f.substituted(ctx, headers.Get(field))
			if err != nil {
				return nil, fmt.Errorf("principal %s: %w", name, err)
			}
			headers.Set(field, value)
			t.Secrets[secret(value)] = name
		}
	}
	delete(t.Secrets, "")
	f.header = t.Header
	return t, nil
}

var (
	command = regexp.MustCompile(`\$\(([^)]*)\)`)
	scheme  = regexp.MustCompile(`^[A-Za-z]+ +`)
)

// substituted returns a header value in which the output of $(commands) stands.
func (f *file) substituted(ctx context.Context, value string) (string, error) {
	var failed error
	value = command.ReplaceAllStringFunc(value, func(found string) string {
		out, err := f.shell(ctx, command.FindStringSubmatch(found)[1], nil)
		failed = errors.Join(failed, err)
		return out
	})
	return value, failed
}

// secret returns a header value after the scheme.
func secret(value string) string { return scheme.ReplaceAllString(value, "") }

// shell runs a command in the folder of the file, with values as environment variables, and
// returns the output. A process
// that the command leaves running does not keep it waiting.
func (f *file) shell(ctx context.Context, text string, v values) (string, error) {
	output, err := os.CreateTemp("", "auth19")
	if err != nil {
		return "", err
	}
	defer func() { _ = errors.Join(output.Close(), os.Remove(output.Name())) }()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Dir(f.path), v.environ(), output, output
	failed := cmd.Run()
	said, err := os.ReadFile(output.Name())
	if failed != nil {
		return "", fmt.Errorf("%s: %w: %s", text, failed, bytes.TrimSpace(said))
	}
	return strings.TrimSpace(string(said)), err
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// prepare sends the requests before an operation, and returns the operation.
func (f *file) prepare(ctx context.Context, key string) (*probe.Operation, error) {
	v := values{
		"key": json.RawMessage(quote(key)), "unique": json.RawMessage(quote("u" + key[:8] + key[24:])),
		"canary": json.RawMessage(quote("canary-" + key[24:])),
	}
	for i, r := range f.Before {
		if err := f.send(ctx, v, r, fmt.Sprintf("%s-before-%d", key, i)); err != nil {
			return nil, fmt.Errorf("before: %w", err)
		}
	}
	others := maps.Clone(v)
	others["canary"] = json.RawMessage(`"other"`)
	op := &probe.Operation{A: f.Principals["a"], B: f.Principals["b"], Do: v.request(f.Do, request{})}
	if text, err := strconv.Unquote(string(v["canary"])); err == nil && strings.Contains(op.Do.Body, text) {
		op.Canary = text
	}
	if f.Other != nil {
		op.Others = []probe.Request{others.request(*f.Other, f.Do)}
	}
	for _, route := range f.Routes {
		op.Routes = append(op.Routes, v.request(route, f.Do))
	}
	if f.Empty != nil {
		op.Empty = new(v.request(*f.Empty, f.Do))
	}
	if f.Refused != nil {
		op.Refused = new(v.request(*f.Refused, f.Do))
	}
	f.hooks(op, v, key)
	return op, nil
}

// hooks sets the hooks that the file has.
func (f *file) hooks(op *probe.Operation, v values, key string) {
	op.Effects = func(ctx context.Context) (int, error) { return f.count(ctx, v) }
	if f.Remedy != nil {
		op.Remedy = func(ctx context.Context) error {
			for i, r := range f.Remedy {
				if err := f.send(ctx, v, r, fmt.Sprintf("%s-remedy-%d", key, i)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	op.HoldBefore, op.HoldAfter = f.trap(f.Hold.Before, v), f.trap(f.Hold.After, v)
	op.FailBefore, op.FailAfter = f.trap(f.Fail.Before, v), f.trap(f.Fail.After, v)
	op.Kill, op.Start, op.Expire = f.run(f.Kill, v), f.run(f.Start, v), f.run(f.Expire, v)
	op.StoreDown, op.StoreUp = f.run(f.Down, v), f.run(f.Up, v)
}

// run returns a hook that runs a command, or nil for no command.
func (f *file) run(text string, v values) func(context.Context) error {
	if text == "" {
		return nil
	}
	return func(ctx context.Context) error {
		_, err := f.shell(ctx, text, v)
		return err
	}
}

func (f *file) trap(t *trap, v values) func(context.Context) (probe.Trap, error) {
	if t == nil {
		return nil
	}
	return func(ctx context.Context) (probe.Trap, error) {
		made := probe.Trap{Header: http.Header{}, Await: f.run(t.Await, v), Undo: f.run(t.Undone, v)}
		for name, value := range t.Headers {
			made.Header.Set(name, v.expand(value))
		}
		if t.Exec == "" {
			return made, nil
		}
		return made, f.run(t.Exec, v)(ctx)
	}
}

// send sends a request that prepares an operation, and captures values.
func (f *file) send(ctx context.Context, v values, r request, key string) error {
	made := v.request(r, request{})
	made.Header.Set(f.header, key)
	body, err := f.ask(ctx, made, r.As)
	if err != nil {
		return err
	}
	for name, pointer := range r.Capture {
		if v[name], err = pointed(body, pointer); err != nil {
			return fmt.Errorf("%s %s: capture %s: %w", made.Method, made.Path, name, err)
		}
	}
	return nil
}

// ask sends a request that is not under test to the last process, which nobody kills.
func (f *file) ask(ctx context.Context, r probe.Request, as string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, f.Servers[len(f.Servers)-1]+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, headers := range []http.Header{f.Principals[firstOf(as, "a")], r.Header} {
		maps.Copy(req.Header, headers)
	}
	resp, err := plain.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %d %.300s", r.Method, r.Path, resp.StatusCode, body)
	}
	return body, err
}

// plain opens a connection for each request, so that it never repeats one.
var plain = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// count reads the number of effects back.
func (f *file) count(ctx context.Context, v values) (int, error) {
	if f.Effects.Exec != "" {
		out, err := f.shell(ctx, f.Effects.Exec, v)
		if err != nil {
			return 0, err
		}
		return number([]byte(out))
	}
	path := v.expand(f.Effects.Get)
	body, err := f.ask(ctx, probe.Request{Method: http.MethodGet, Path: path}, f.Effects.As)
	if err != nil {
		return 0, err
	}
	raw, err := pointed(body, f.Effects.Pointer)
	if err != nil {
		return 0, fmt.Errorf("GET %s: %w", path, err)
	}
	return number(raw)
}

// number returns a number, or the length of a list.
func number(raw []byte) (int, error) {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) == nil && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		return len(elements), nil
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(raw)))
	if err != nil {
		return 0, fmt.Errorf("%.100q is neither a number nor a list", raw)
	}
	return n, nil
}
