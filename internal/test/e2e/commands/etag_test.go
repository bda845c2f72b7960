package commands_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// nginx weakens an ETag when it compresses the response, and Apache appends the coding. A
// browser behind them sends that back.
func TestPutProduct_TakesTheETagThatAProxyHasRewritten(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	call := s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), 10)
	for i, form := range []string{`W/"%d"`, `"%d-gzip"`, `"%d--gzip"`, `"%d;br"`, `"%d"`} {
		before, after := int64(i+1), fmt.Sprintf(`"%d"`, i+2)
		call = s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), 10+(i+1)%5)

		stale := s.WantProblem(t, http.StatusPreconditionFailed, "precondition_failed", call.WithHeader("If-Match", fmt.Sprintf(form, before+9)))
		put := s.Send(t, call.WithHeader("If-Match", fmt.Sprintf(form, before)))

		if put.Status != http.StatusOK || put.Header.Get("ETag") != after {
			t.Errorf("%s: %d, ETag %s; want 200 and %s: %s", form, put.Status, put.Header.Get("ETag"), after, put.Body)
		}
		if !strings.Contains(string(stale.Body), "has changed") {
			t.Errorf("%s of another version: %s", form, stale.Body)
		}
	}
	alien := s.WantProblem(t, http.StatusPreconditionFailed, "precondition_failed", call.WithHeader("If-Match", `"6f1ed002ab55"`))
	if !strings.Contains(string(alien.Body), "a proxy has rewritten it") {
		t.Errorf("an ETag that is none of ours: %s", alien.Body)
	}
}
