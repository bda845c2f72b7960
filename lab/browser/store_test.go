//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

// checkStore checks that the store for browsers does what every store does.
const checkStore = `
	const {WebStore} = await import(args.modules + '/dist/index.js');
	const {storeContract} = await import(args.modules + '/build/test/store-contract.js');
	const outcomes = {};
	for (const [behaviour, check] of Object.entries(storeContract)) {
		await new Promise((resolve) => { indexedDB.deleteDatabase('orders-client').onsuccess = resolve; });
		outcomes[behaviour] = await check(new WebStore()).then(() => 'holds', String);
	}
	return outcomes;`

func TestWebStore_DoesWhatEveryStoreDoes(t *testing.T) {
	t.Parallel()
	page := NewPage(t)

	outcomes := Run[map[string]string](t, page, checkStore, map[string]any{"modules": serveModules(t)})

	for behaviour, outcome := range outcomes {
		if outcome != "holds" {
			t.Errorf("%s: %s", behaviour, outcome)
		}
	}
	if len(outcomes) == 0 {
		t.Error("nothing was checked")
	}
}

// useDamaged calls a command with each kind of database that cannot keep keys. Nothing may be
// sent.
const useDamaged = `
	const {OrdersClient} = await import(args.modules + '/dist/index.js');
	const result = (request) => new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
	const create = (version, stores) => {
		const opening = indexedDB.open('orders-client', version);
		opening.onupgradeneeded = () => stores.forEach((name) => opening.result.createObjectStore(name));
		return result(opening);
	};
	const damages = {
		'another version': async () => (await create(2, ['keys'])).close(),
		'no object store': async () => (await create(1, [])).close(),
		'a deletion that another tab holds up': async () => {
			const held = await create(1, ['keys']);
			const deletion = result(indexedDB.deleteDatabase('orders-client'));
			return async () => { held.close(); await deletion; };
		},
	};
	const outcomes = {};
	for (const [name, damage] of Object.entries(damages)) {
		const repair = await damage();
		const fetch = () => { outcomes[name] = 'sent'; throw new Error('sent'); };
		const client = new OrdersClient({baseUrl: 'https://orders.example.com', deadline: 500, fetch});
		const error = await client.createOrder('cart-1', {items: []}).catch((error) => error);
		outcomes[name] ??= [error.name, error.outcomeUnknown, error.cause?.name].join(' ');
		await repair?.();
		await result(indexedDB.deleteDatabase('orders-client'));
	}
	return outcomes;`

func TestWebStore_ThatCannotKeepAKeyHasNoEffect(t *testing.T) {
	t.Parallel()
	page := NewPage(t)

	outcomes := Run[map[string]string](t, page, useDamaged, map[string]any{"modules": serveModules(t)})

	want := map[string]string{
		"another version":                      "OrdersInterrupted false VersionError",
		"no object store":                      "OrdersInterrupted false NotFoundError",
		"a deletion that another tab holds up": "OrdersInterrupted false TimeoutError",
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// startSilent starts a service that never answers, and reports the key of each request.
func startSilent(t *testing.T) (url string, keys <-chan string) {
	t.Helper()
	arrived := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "Content-Type, Idempotency-Key")
		if r.Method == http.MethodOptions {
			return // lets the page send its request
		}
		arrived <- r.Header.Get("Idempotency-Key")
		select {
		case <-r.Context().Done(): // the browser is killed
		case <-t.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived
}

// order lets a page create the same order each time. It does not wait for a response.
const order = `
	const {OrdersClient} = await import(%q);
	new OrdersClient({baseUrl: %q}).createOrder('cart-1', {items: [{sku: 'tea', quantity: 1}]}).catch(() => {});`

func TestWebStore_HasTheKeyWhenTheBrowserIsKilledAfterSending(t *testing.T) {
	t.Parallel()
	page, profile := NewPage(t), NewProfile(t)
	service, keys := startSilent(t)
	script := fmt.Sprintf(order, serveModules(t)+"/dist/index.js", service)
	visit := func() *Tab {
		tab := OpenTabIn(t, profile)
		tab.Do(t, chromedp.Navigate(page.Origin))
		Eval[chromedp.Void](t, tab, script)
		return tab
	}

	killed := visit()
	first := e2e.Receive(t, keys, "the request of the first visit")
	killed.Kill(t, profile)
	visit()
	second := e2e.Receive(t, keys, "the request of the second visit")

	if first == "" || second != first {
		t.Errorf("the visits sent the keys %q and %q, want the same", first, second)
	}
}
