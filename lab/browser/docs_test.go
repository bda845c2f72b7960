//go:build browser

package browser

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	testwait "example.com/orders/internal/test/wait"
)

// reference is the page /docs in a tab.
type reference struct {
	*Tab
	dev *OrdersDev
}

// The page of one orders-dev, in a browser of its own for each test.
func TestDocs(t *testing.T) {
	t.Parallel()
	dev := StartOrdersDev(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, reference)
	}{
		{"a fresh key for each press of Execute", freshKeyForEachPress},
		{"the same key again is reused", sameKeyIsReused},
		{"a key that is typed is sent", typedKeyIsSent},
		{"a token is handed to the page and not stored", tokenIsNotStored},
		{"a role can be chosen", roleCanBeChosen},
		{"it is readable in both modes, and on a phone", isReadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, openReference(t, dev))
		})
	}
}

func openReference(t *testing.T, dev *OrdersDev) reference {
	t.Helper()
	r := reference{OpenTab(t), dev}
	r.Open(t, r.dev.URL+"/docs", "light", 1280, 900)
	r.Await(t, `document.querySelector('#operations-orders-createOrder')`)
	return r
}

// tryOut opens the form of an operation. It returns the selector of the operation.
func (r reference) tryOut(t *testing.T, tag, operation string) string {
	t.Helper()
	selector := "#operations-" + tag + "-" + operation
	r.Do(t, chromedp.Click(selector+" .opblock-summary-control"), chromedp.Click(selector+" .try-out__btn"),
		chromedp.WaitVisible(selector+" .execute"))
	return selector
}

// sent is what the page shows after a request.
type sent struct{ Key, Curl, Status, Headers string }

// execute presses Execute, and returns what the page shows of the request and its response.
func (r reference) execute(t *testing.T, operation string) sent {
	t.Helper()
	r.Do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector('`+operation+` .btn-clear')?.click()`))
	r.Await(t, `!document.querySelector('`+operation+` .live-responses-table')`)
	r.Do(t, chromedp.Click(operation+" .execute"))
	var shown sent
	testwait.Until(t, "a response", func() bool {
		shown = Eval[sent](t, r.Tab, `
			const part = selector => document.querySelector('`+operation+` ' + selector);
			return {
				Key: part('tr[data-param-name="Idempotency-Key"] input')?.value ?? '',
				Curl: part('.curl')?.textContent ?? '',
				Status: part('.live-responses-table .response .response-col_status')?.textContent.trim() ?? '',
				Headers: [...document.querySelectorAll('`+operation+` .live-responses-table .headerline')].map(e => e.textContent).join('\n'),
			};`)
		return shown.Status != ""
	})
	return shown
}

func freshKeyForEachPress(t *testing.T, r reference) {
	create := r.tryOut(t, "orders", "createOrder")

	first, second := r.execute(t, create), r.execute(t, create)

	for i, got := range []sent{first, second} {
		if !strings.HasPrefix(got.Status, "201") || !strings.Contains(got.Headers, "idempotency-result: created") {
			t.Errorf("press %d: status %s, headers %s", i+1, got.Status, got.Headers)
		}
		if got.Key == "" || !strings.Contains(got.Curl, "Idempotency-Key: "+got.Key) {
			t.Errorf("press %d: the field has the key %q, and the page sent %s", i+1, got.Key, got.Curl)
		}
	}
	if first.Key == second.Key {
		t.Errorf("both requests had the key %s", first.Key)
	}
}

func sameKeyIsReused(t *testing.T, r reference) {
	create := r.tryOut(t, "orders", "createOrder")
	first := r.execute(t, create)

	r.Do(t, chromedp.Click(create+" .orders-same-key input"))
	second := r.execute(t, create)

	if second.Key != first.Key || !strings.Contains(second.Headers, "idempotency-result: reused") {
		t.Errorf("key %q after %q, headers %s", second.Key, first.Key, second.Headers)
	}
	if got := Query[struct{ Orders int }](t, r.dev, "orders", `SELECT count(*) FROM orders WHERE idempotency_key = $1`, first.Key); got.Orders != 1 {
		t.Errorf("the key has made %d orders, want 1", got.Orders)
	}
}

func typedKeyIsSent(t *testing.T, r reference) {
	create := r.tryOut(t, "orders", "createOrder")

	r.Do(t, chromedp.SendKeys(create+` tr[data-param-name="Idempotency-Key"] input`, "my-own-key"))

	if got := r.execute(t, create); got.Key != "my-own-key" || !strings.Contains(got.Curl, "Idempotency-Key: my-own-key") {
		t.Errorf("the page sent %s", got.Curl)
	}
}

// The page sends a token of a role that may call the operation, and keeps none of them.
func tokenIsNotStored(t *testing.T, r reference) {
	credit := r.tryOut(t, "balance", "creditBalance") // not the customer's

	got := r.execute(t, credit)

	if !strings.HasPrefix(got.Status, "201") || !strings.Contains(got.Curl, "Authorization: Bearer ey") {
		t.Errorf("status %s after %s", got.Status, got.Curl)
	}
	stored := Eval[string](t, r.Tab, `return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href,
		performance.getEntries().map(e => e.name)])`)
	if regexp.MustCompile(`ey[A-Za-z0-9_-]{10,}\.`).MatchString(stored) || strings.Contains(stored, "bearer") {
		t.Errorf("the page stored %s", stored)
	}
}

func roleCanBeChosen(t *testing.T, r reference) {
	credit := r.tryOut(t, "balance", "creditBalance")

	r.Do(t, chromedp.SetValue("#orders-role", "customer"),
		chromedp.Evaluate[chromedp.Void](`document.querySelector('#orders-role').dispatchEvent(new Event('change'))`))

	if got := r.execute(t, credit); !strings.HasPrefix(got.Status, "403") {
		t.Errorf("status %s with a customer's token, want %d", got.Status, http.StatusForbidden)
	}
}

func isReadable(t *testing.T, r reference) {
	create := r.tryOut(t, "orders", "createOrder")
	r.execute(t, create)
	shown := Eval[string](t, r.Tab, `return [...document.querySelectorAll('`+create+` .orders-roles span, .info summary, .info details[open]')].map(e => e.textContent).join()`)
	if want := "Idempotency,Errors,Limits,Money,Requests and responses,customer,seller"; shown != want {
		t.Errorf("the page shows the closed sections and roles %q, want %q", shown, want)
	}
	r.WantAccessible(t, "the reference", "#orders-token, .orders-same-key, .orders-roles, .orders-prose, .opblock-summary-method, "+
		".opblock-description, .parameter__name, .response-col_status, .highlight-code code")
	for _, width := range []int64{1280, 375, 320} {
		r.WantNoWider(t, width, 667)
	}
}
