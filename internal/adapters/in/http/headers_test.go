package httpapi

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

func TestDecodeIfMatch_FollowsRFC9110(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values    []string
		mustExist bool
		versions  []int64
	}{
		"absent":                      {nil, false, nil},
		"any":                         {[]string{"*"}, true, nil},
		"any, with spaces":            {[]string{" * "}, true, nil},
		"one":                         {[]string{`"3"`}, true, []int64{3}},
		"a list":                      {[]string{`"3", "12"`}, true, []int64{3, 12}},
		"a list with empty elements":  {[]string{` ,"3" ,, "12",`}, true, []int64{3, 12}},
		"two lines":                   {[]string{`"3"`, `"12"`}, true, []int64{3, 12}},
		"weak, which matches nothing": {[]string{`W/"3"`}, true, []int64{0}},
		"weak and strong":             {[]string{`W/"3","3"`}, true, []int64{0, 3}},
		"from elsewhere":              {[]string{`"abc"`, `""`, `"3,4"`, `"*"`}, true, []int64{0, 0, 0, 0}},
		"almost ours":                 {[]string{`"03", "+3", "3.0", "99999999999999999999"`}, true, []int64{0, 0, 0, 0}},
	} {
		r := &request{http: httptest.NewRequest(http.MethodPut, "/products/tea", nil)}
		r.http.Header["If-Match"] = c.values
		mustExist, versions, err := decodeIfMatch(r)
		if err != nil || mustExist != c.mustExist || !slices.Equal(versions, c.versions) {
			t.Errorf("%s: %v, %v, %v; want %v, %v", name, mustExist, versions, err, c.mustExist, c.versions)
		}
	}
}

func TestDecodeIfMatch_RefusesWhatIsNoEntityTag(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", ",", "3", `"3`, `3"`, `"3""4"`, `"3" "4"`, `w/"3"`, `W/ "3"`, `"3", *`, `*, "3"`, "**", "\"3\x7f\"", `"3", 4`} {
		r := &request{http: httptest.NewRequest(http.MethodPut, "/products/tea", nil)}
		r.http.Header.Set("If-Match", value)
		if mustExist, versions, err := decodeIfMatch(r); codeOf(err) != wire.ProblemCodeMalformedRequest || mustExist || versions != nil {
			t.Errorf("%q: %v, %v, %v; want %s", value, mustExist, versions, err, wire.ProblemCodeMalformedRequest)
		}
	}
}

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
