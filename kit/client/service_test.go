package client

import "testing"

// connect returns a client of a service that answers so, with a store that clients share.
func connect(t *testing.T, config Config, keys KeyStore, answers ...answer) (*Client, *service) {
	t.Helper()
	s := &service{answers: answers}
	config.Token, config.Keys, config.Transport = StaticToken(""), keys, s
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func TestService_WithANameIsOneAtAllItsAddresses(t *testing.T) {
	for name, keys := range stores(t) {
		t.Run(name, func(t *testing.T) {
			var sent []string
			for _, config := range []Config{
				{URL: "https://orders.test", Service: "orders"}, {URL: "https://10.0.0.7:8443", Service: "orders"},
				{URL: "https://orders.test", Service: "staging"}, {URL: "https://orders.test", Service: "https://moved.test"},
				{URL: "https://moved.test"},
			} {
				c, s := connect(t, config, keys, created)
				if _, err := order(t.Context(), c, "cart-1"); err != nil {
					t.Fatal(err)
				}
				sent = append(sent, s.sent[0].key)
			}
			if sent[0] != sent[1] || sent[3] != sent[4] {
				t.Errorf("a service has two keys for one operation: %q", sent)
			}
			if name == "memory" && (sent[0] == sent[2] || sent[0] == sent[3]) { // the URL had no keys before
				t.Errorf("two services share a key: %q", sent)
			}
		})
	}
}

// Version 0.1 named a service by its URL as it was written.
func TestService_HasTheKeysThatTheLastVersionStored(t *testing.T) {
	for name, config := range map[string]Config{
		"https://ORDERS.test:443": {URL: "https://ORDERS.test:443/"},
		"https://orders.test":     {URL: "https://orders.test", Service: "orders"},
		"http://localhost:8080":   {URL: "http://localhost:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, last := newFileStore(t, t.TempDir()), name+` "" "cart-1"`
			begun := keyOf(t, keys, last)
			c, s := connect(t, config, keys, loses, outOfStock, created)
			c.config.BackOff = BackOff{Base: 1, Max: 1}

			_, _ = order(t.Context(), c, "cart-1") // is refused at the second attempt
			if _, err := order(t.Context(), c, "cart-1"); err != nil {
				t.Fatal(err)
			}

			if s.sent[0].key != begun || s.sent[1].key != begun {
				t.Errorf("sent %q and %q, although %q may have taken effect", s.sent[0].key, s.sent[1].key, begun)
			}
			if next := keyOf(t, keys, last); next == begun || next != s.sent[2].key {
				t.Errorf("the last version continues with %q, and this one with %q", next, s.sent[2].key)
			}
		})
	}
}
