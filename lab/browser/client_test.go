//go:build browser

package browser

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/kit/lossy"
	"example.com/orders/lab/kit/tsclient"
)

// shopTwice runs the shoppers. Then some of them do the same again with a new client, as
// after a reload of the page. The keys are in a database of the browser.
const shopTwice = `
	const {OrdersClient} = await import(args.modules + '/dist/index.js');
	const {shop} = await import(args.modules + '/build/test/shoppers.js');
	const newClient = (options) => new OrdersClient(options);
	const first = await shop(args.shopping, newClient);
	const second = await shop({...args.shopping, shoppers: args.shopping.shoppers.slice(0, 10)}, newClient);
	const result = (request) => new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
	const keys = (await result(indexedDB.open('orders-client'))).transaction('keys').objectStore('keys');
	const [names, values] = await Promise.all([result(keys.getAllKeys()), result(keys.getAll())]);
	return {first, second, kept: Object.fromEntries(names.map((name, i) => [name, values[i]]))};`

// serveModules serves the built client to pages of all origins.
func serveModules(t *testing.T) (url string) {
	t.Helper()
	files := http.FileServer(http.Dir(filepath.Join("..", "kit", "tsclient", tsclient.Built)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestTypeScriptClient_ThousandOperationsOfAPageTakeEffectOnce(t *testing.T) {
	page := NewPage(t)
	s := e2e.StartShop(t, e2e.Stock{"tea": 1000}, "ORDERS_CORS_ORIGINS="+page.Origin)
	proxy := lossy.New(t, s.URL, 1)
	shopping := tsclient.NewShopping(t, s, proxy.URL, 1000/tsclient.Operations)

	result := Run[struct {
		First, Second tsclient.Receipt
		Kept          map[string]string
	}](t, page, shopTwice, map[string]any{"modules": serveModules(t), "shopping": shopping})

	proxy.RequireFaults(t)
	shopping.WantEachOnce(t, s, result.First)
	if want := (tsclient.Receipt{Operations: 40, Replayed: 40}); result.Second != want || len(result.Kept) != 1000 {
		t.Errorf("the second visit got %+v with %d keys, want %+v with 1000", result.Second, len(result.Kept), want)
	}
	for name, key := range result.Kept {
		if strings.Contains(name+key, "eyJ") { // how every token begins
			t.Fatalf("the page keeps a token: %s", name)
		}
	}
}
