package main

import (
	"bytes"
	"cmp"
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
	"syscall"
	"time"

	"example.com/orders/kit/guard/routetest/probe"
)

// target describes the server of a file to the probes.
func (f *file) target(ctx context.Context, seed uint64) (*probe.Target, error) {
	profile := profiles[f.Profile]
	t := &probe.Target{
		Servers: f.Servers, Profile: profile, Header: profile.Header, Seed: seed, Prepare: f.prepare,
		Secrets: f.secrets, Keys: 20, Crowd: 50, Timeout: f.Timeout, Patience: f.Patience, Settle: 250 * time.Millisecond,
	}
	if f.Key != "" {
		t.Header = f.Key
	}
	for _, name := range slices.Sorted(maps.Keys(f.Principals)) {
		headers := f.Principals[name]
		for field := range headers {
			value, err := f.substituted(ctx, headers.Get(field))
			if err != nil {
				return nil, fmt.Errorf("principal %s: %w", name, err)
			}
			headers.Set(field, value)
		}
		f.hide(name, headers)
	}
	f.header = t.Header
	return t, nil
}

var (
	command    = regexp.MustCompile(`\$\(([^)]*)\)`)
	scheme     = regexp.MustCompile(`^[A-Za-z]+ +`)
	credential = regexp.MustCompile(`(?i)auth|cookie|key|token|secret|session|passw|signature|credential|jwt`)
)

// hide adds the credentials in headers to those that reports mask.
func (f *file) hide(name string, headers http.Header) {
	var found []string
	for field := range headers {
		if credential.MatchString(field) {
			found = append(found, scheme.ReplaceAllString(headers.Get(field), ""))
		}
	}
	r := http.Request{Header: headers}
	_, password, _ := r.BasicAuth()
	found = append(found, password)
	for _, cookie := range r.Cookies() {
		if len(cookie.Value) >= 8 { // a shorter one may be a setting, such as the language
			found = append(found, cookie.Value)
		}
	}
	for _, secret := range found {
		if f.secrets[secret] == "" && len(secret) >= 3 {
			f.secrets[secret] = name
		}
	}
}

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

// shell runs a command in the folder of the file, with values as environment variables, and
// returns the output. A process that the command leaves running does not keep it waiting,
// because both outputs are files. A command that does not return is ended after a while.
func (f *file) shell(ctx context.Context, text string, v values) (string, error) {
	limit := f.Timeout + f.Patience
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not return within %v; a server belongs in the background", limit))
	defer cancel()
	dir, err := os.MkdirTemp("", "auth19")
	if err != nil {
		return "", err
	}
	output, err1 := os.Create(filepath.Join(dir, "output"))
	complaint, err2 := os.Create(filepath.Join(dir, "complaint"))
	defer func() { _ = errors.Join(output.Close(), complaint.Close(), os.RemoveAll(dir)) }()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Dir(f.path), v.environ(), output, complaint
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", text, cmp.Or(context.Cause(ctx), err), contents(complaint))
	}
	return contents(output), nil
}

// contents returns the trimmed beginning of a file.
func contents(f *os.File) string {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	return strings.TrimSpace(string(text))
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// request returns a request of the file, with the members of base that it lacks.
func (f *file) request(v values, r, base request) probe.Request {
	made := v.request(r, base)
	f.hide("the file", made.Header)
	return made
}

// prepare sends the requests before an operation, and returns the operation.
func (f *file) prepare(ctx context.Context, key string) (*probe.Operation, error) {
	v := values{
		"key": json.RawMessage(quote(key)), "unique": json.RawMessage(quote("u" + key[:8] + key[24:])),
		"canary": json.RawMessage(quote("canary-" + key[24:])),
	}
	for i, r := range f.Before {
		if err := f.send(ctx, v, r, probe.NewKey(0, key, "before", i)); err != nil {
			return nil, fmt.Errorf("before: %w", err)
		}
	}
	others := maps.Clone(v)
	others["canary"] = json.RawMessage(`"other"`)
	op := &probe.Operation{A: f.Principals["a"], B: f.Principals["b"], Do: f.request(v, f.Do, request{})}
	if text, err := strconv.Unquote(string(v["canary"])); err == nil && strings.Contains(op.Do.Body, text) {
		op.Canary = text
	}
	if f.Other != nil {
		op.Others = []probe.Request{f.request(others, *f.Other, f.Do)}
	}
	for _, route := range f.Routes {
		op.Routes = append(op.Routes, f.request(v, route, f.Do))
	}
	if f.Empty != nil {
		op.Empty = new(f.request(v, *f.Empty, f.Do))
	}
	if f.Refused != nil {
		op.Refused = new(f.request(v, *f.Refused, f.Do))
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
				if err := f.send(ctx, v, r, probe.NewKey(0, key, "remedy", i)); err != nil {
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
	made := f.request(v, r, request{})
	made.Header.Set(f.header, profiles[f.Profile].Written(key))
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
	got := probe.Send(ctx, f.Servers[len(f.Servers)-1], f.Principals[firstOf(as, "a")], r)
	switch {
	case errors.Is(got.Err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("no server listens: %w; start it, or correct the member server", got.Err)
	case got.Err != nil:
		return nil, got.Err
	case got.Status == http.StatusUnauthorized, got.Status == http.StatusForbidden:
		return nil, fmt.Errorf("%s %s: %s as %s: %s; principals has the headers of each caller, such as a: {Authorization: Bearer …}", r.Method, r.Path, got.Outcome(), firstOf(as, "a"), got.Body)
	case got.Status/100 != 2:
		return nil, fmt.Errorf("%s %s: %s: %s", r.Method, r.Path, got.Outcome(), got.Body)
	}
	return got.Body, nil
}

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
		return 0, fmt.Errorf("expected a number or a list, to which a pointer such as /data leads in a body; got: %s", raw)
	}
	return n, nil
}
