package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A captured value is a text to a command, and never a part of it.
func TestCommands_GetValuesAsEnvironment(t *testing.T) {
	t.Parallel()
	const attack = "1; touch pwned; $(touch pwned) `touch pwned` ' \" \n touch pwned #"
	body, err := json.Marshal(map[string]any{"id": attack, "n": 1.50})
	if err != nil {
		t.Fatal(err)
	}
	h := newHostile(t, map[string]http.HandlerFunc{"/carts": answer(string(body))})
	path := h.describe(t, `
before: {path: /carts, capture: {cart: /id, n: /n}}
do: {path: /charges, body: {cart: "${cart}"}}
effects: {get: /charges, pointer: /data}
expire: {exec: 'printf %s "$cart" >cart; echo $n >n; printf %s "$key" >key'}
`)

	status, out := command19(t, "run", path, "T")

	dir := filepath.Dir(path)
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("the server ran a command")
	}
	if got := mustRead(t, filepath.Join(dir, "cart")); got != attack || mustRead(t, filepath.Join(dir, "n")) != "1.5\n" || len(mustRead(t, filepath.Join(dir, "key"))) != 36 {
		t.Errorf("the command got %q", got)
	}
	if status == unusable {
		t.Errorf("status %d: %s", status, out)
	}
}

// A text cannot stand in the place of a value, wherever a file has a command.
func TestParse_RefusesTemplatesInCommands(t *testing.T) {
	t.Parallel()
	const want = `auth19.yaml:4: ${key} in a command: commands get values as environment variables, never as text; write "$key"`
	for _, more := range []string{
		"kill: {exec: 'x ${key}'}\nstart: {exec: x}", "kill: {exec: x}\nstart: {exec: 'x ${key}'}", "expire: {exec: 'x ${key}'}",
		"store: {down: 'x ${key}', up: x}", "store: {down: x, up: 'x ${key}'}", "principals: {a: {Authorization: '$(x ${key})'}}",
		"hold: {before: {exec: 'x ${key}', release: x}}", "hold: {before: {exec: x, release: 'x ${key}'}}",
		"hold: {after: {exec: x, await: 'x ${key}', release: x}}", "fail: {after: {exec: x, undo: 'x ${key}'}}",
	} {
		_, err := parse(write(t, small+more))
		if err == nil || strings.Count(strings.ReplaceAll(err.Error(), ":5:", ":4:"), want) != 1 {
			t.Errorf("%q: %v, want %q once", more, err, want)
		}
	}
	if _, err := parse(write(t, "server: http://a\ndo: {path: /x}\neffects: {exec: 'echo ${key}'}")); err == nil {
		t.Error("effects accept a template")
	}
}

// A server chooses the value of a captured name, which must change no command.
func TestParse_RefusesNamesThatCommandsDependOn(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"PATH": `"PATH"`, "LD_PRELOAD": `"LD_PRELOAD"`, "IFS": `"IFS"`, "http_proxy": `"http_proxy"`, "key": `"key"`,
		"the-cart": `"the-cart"`, "1": `"1"`, "a=b": `"a=b"`, "_": `"_"`, "cart id": `"cart id"`,
	} {
		_, err := parse(write(t, small+"before: {path: /carts, capture: {"+name+": /id}}"))
		if err == nil || !strings.Contains(err.Error(), "auth19.yaml:4: capture "+want+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parse(write(t, small+"before: {path: /carts, capture: {cartId_2: /id}}")); err != nil {
		t.Error(err)
	}
}

// A file may come from a stranger as well.
func TestRun_AsksBeforeItRunsCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		asks   bool // a person can answer
		args   []string
		status int
	}{
		"yes": {"y\n", true, nil, kept}, "no": {"n\n", true, nil, unusable}, "no answer": {"", true, nil, unusable},
		"no person": {"y\n", false, nil, unusable}, "no person, --yes": {"", false, []string{"--yes"}, kept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t, nil)
			path := h.describe(t, `
principals: {a: {Authorization: "Bearer $(touch ran && echo alice)"}}
do: {path: /charges, body: {amount: 100}}
effects: {get: /charges, pointer: /data}
expire: {exec: "touch expired # \e[8m"}
`)
			var text bytes.Buffer

			status := run(t.Context(), append([]string{"run", path, "T"}, c.args...), console{in: strings.NewReader(c.answer), asks: c.asks, out: &text, err: &text})

			_, err := os.Stat(filepath.Join(filepath.Dir(path), "ran"))
			if ran := err == nil && h.count() > 0; status != c.status || ran != (status == kept) {
				t.Errorf("status %d, want %d; ran = %v: %s", status, c.status, ran, text.String())
			}
			shown := strings.Contains(text.String(), "  3: Bearer $(touch ran && echo alice)\n  6: touch expired # \\x1b[8m\n")
			if shown == (c.args != nil) || !c.asks && shown != strings.Contains(text.String(), "--yes") {
				t.Errorf("the commands are shown = %v: %s", shown, text.String())
			}
		})
	}
}

func TestCommands_EndAfterAWhile(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	path := h.describe(t, charge+"effects: {get: /charges, pointer: /data}\ntimeout: 1s\npatience: 1s\nexpire: {exec: 'sleep 600'}\n")

	status, out := command19(t, "run", path, "T")

	if want := "expire: sleep 600: it did not return within 2s; a server belongs in the background"; status != unusable || !strings.Contains(out, want) {
		t.Errorf("status %d, no %q: %s", status, want, out)
	}
}
