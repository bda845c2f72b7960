package httpapi

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// FuzzCursor checks that every text is a cursor as the service writes it or invalid, and
// that the service reads every cursor that it writes.
func FuzzCursor(f *testing.F) {
	f.Add("", int64(0), int64(1))
	f.Add("AAAAAAAAAAAAAAAAAAAAAA", int64(1_700_000_000_000_000), int64(1041))
	f.Add("AAAAAAAAAAAAAAAAAAAAAB", int64(-62_135_596_800_000_000), int64(math.MaxInt64))
	f.Add("AAAAAAAAAAA\nAAAAAAAAAAA", int64(math.MaxInt64), int64(-1))
	f.Fuzz(func(t *testing.T, text string, micro, id int64) {
		r := httptest.NewRequest("GET", "/orders?cursor="+url.QueryEscape(text), http.NoBody)
		page, err := decodePage(&request{http: r})
		if err != nil && (codeOf(err) != wire.ProblemCodeValidationFailed || problem.Of(err).Errors[0].Pointer != "#/cursor") {
			t.Errorf("%q: got %v, want validation_failed at #/cursor", text, err)
		}
		if err == nil && *encodeCursor(&page.After) != text {
			t.Errorf("%q is read as the cursor %s", text, *encodeCursor(&page.After))
		}
		at := core.Position{CreatedAt: time.UnixMicro(micro).UTC(), ID: id}
		if year := at.CreatedAt.Year(); year < 1 || year > 9999 {
			return
		}
		if read, err := decodeCursor(*encodeCursor(&at)); err != nil || read != at {
			t.Errorf("%+v comes back as %+v, %v", at, read, err)
		}
	})
}
