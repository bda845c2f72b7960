// Package browser tests in a real browser what only a browser can show. Its tests have the
// build tag browser, because they need Chromium: `make test-browser` runs them.
package browser
