//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	testwait "example.com/orders/internal/test/wait"
)

// Tab is a tab in a headless browser.
type Tab struct{ ctx context.Context } //nolint:containedctx // chromedp keeps a tab in it

// OpenTab starts a browser with a new profile. It ends with the test.
func OpenTab(t testing.TB) *Tab {
	t.Helper()
	return OpenTabIn(t, NewProfile(t))
}

// NewProfile returns an empty folder for a browser profile.
func NewProfile(t testing.TB) string {
	t.Helper()
	profile, err := os.MkdirTemp("", "orders-browser-") //nolint:usetesting // the browser may still write while it dies
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	return profile
}

// OpenTabIn starts a browser with a profile. It ends with the test or by [Tab.Kill].
func OpenTabIn(t testing.TB, profile string) *Tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true))
	browser, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(func() { closeTab(); stop() })
	tab := &Tab{ctx}
	if err := chromedp.Do(ctx); err != nil { // starts the browser, which ends with this context
		t.Fatal(err)
	}
	return tab
}

// Kill kills the browser, and waits until no browser process uses the profile.
func (tab *Tab) Kill(t testing.TB, profile string) {
	t.Helper()
	if err := chromedp.FromContext(tab.ctx).Browser.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the browser is gone", func() bool {
		commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
		return err == nil && !slices.ContainsFunc(commands, func(path string) bool {
			command, _ := os.ReadFile(path) // empty if the process has ended meanwhile
			return strings.Contains(string(command), profile)
		})
	})
}

// chromium returns the path of the browser.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("Chromium is not installed: `make -C lab browser` installs it, or says how")
	return ""
}

// Do runs steps, such as [chromedp.Navigate].
func (tab *Tab) Do(t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	Get(t, tab, chromedp.Steps(steps...))
}

// Get runs an action and returns the value. A script may shop a thousand times.
func Get[T any](t testing.TB, tab *Tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, 2*testwait.Patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Open opens a page in a size and a colour scheme, light or dark, with animations off.
func (tab *Tab) Open(t testing.TB, url, scheme string, width, height int64) {
	t.Helper()
	tab.Do(t, chromedp.EmulateViewport(width, height), prefer(scheme), chromedp.Navigate(url))
}

// prefer sets the user preferences.
func prefer(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		return err
	})
}

// WantNoWider sets the size of the window, and fails the test if the page scrolls sideways.
func (tab *Tab) WantNoWider(t testing.TB, width, height int64) {
	t.Helper()
	tab.Do(t, chromedp.EmulateViewport(width, height))
	if wide := Eval[int64](t, tab, `return document.documentElement.scrollWidth`); wide > width {
		t.Errorf("the page is %d wide on %d", wide, width)
	}
}

// Eval returns the result of a script. The script is the body of an asynchronous function.
func Eval[T any](t testing.TB, tab *Tab, script string) T {
	t.Helper()
	return Get(t, tab, chromedp.Evaluate[T]("(async () => { "+script+" })()", chromedp.EvalAwaitPromise))
}

// Await waits until an expression on the page is true.
func (tab *Tab) Await(t testing.TB, expression string) {
	t.Helper()
	testwait.Until(t, expression, func() bool { return Eval[bool](t, tab, "return Boolean("+expression+")") })
}

// violation is a finding by axe.
type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML, FailureSummary string
	}
}

// WantAccessible fails the test unless the page follows the user's colour scheme, and if axe finds
// something in either scheme, in the parts that a CSS selector names.
func (tab *Tab) WantAccessible(t testing.TB, when, selector string) {
	t.Helper()
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal("axe-core is not installed: `make -C lab browser` fetches it")
	}
	tab.Do(t, chromedp.Evaluate[chromedp.Void](string(axe)))
	for _, scheme := range []string{"dark", "light"} {
		tab.Do(t, prefer(scheme))
		red := Eval[int](t, tab, `return Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0])`)
		if (red < 64) != (scheme == "dark") {
			t.Errorf("%s: the red of the background is %d in the scheme %s", when, red, scheme)
		}
		for _, v := range Eval[[]violation](t, tab, fmt.Sprintf("return (await axe.run({include: [%s]})).violations", quote(selector))) {
			var nodes []string
			for _, node := range v.Nodes {
				nodes = append(nodes, node.HTML+"\n"+node.FailureSummary)
			}
			t.Errorf("%s, %s: %s (%s):\n%s", when, scheme, v.ID, v.Help, strings.Join(nodes, "\n"))
		}
	}
}

// quote returns a text as a JavaScript literal.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text can be quoted
	}
	return string(quoted)
}
