package httpapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"example.com/orders/internal/adapters/in/http/wire"
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
