// Package browser tests behaviour that only a real browser can show. The tests have the
// build tag browser, because they need Chromium: `make -C lab browser` runs them.
package browser
