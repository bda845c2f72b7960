package idempotency_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/idempotency"
)

// stubStore answers Execute with a function.
type stubStore struct {
	execute func(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error)
}

func (s stubStore) Execute(ctx context.Context, c idempotency.Claim, run idempotency.Command) (idempotency.Record, bool, error) {
	return s.execute(ctx, c, run)
}

// runAndStore executes the command as a store does for a key that nobody has used.
func runAndStore(ctx context.Context, c idempotency.Claim, run idempotency.Command) (idempotency.Record, bool, error) {
	result, err := run(ctx)
	return idempotency.Record{Claim: c, Response: result.Response}, false, err
}

// inProgress answers as a store does while another request holds the key.
func inProgress(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error) {
	return idempotency.Record{}, false, idempotency.ErrInProgress
}

func guardOn(execute func(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error)) idempotency.Guard {
	return idempotency.Guard{Store: stubStore{execute}, Wait: time.Minute, Timeout: time.Minute}
}

var request = idempotency.Request{
	ID:        idempotency.ID{Scope: "issuer alice", Key: "key-1"},
	Operation: "createOrder",
	Content:   idempotency.Content{Method: "POST", Path: "/orders", Body: []byte(`{"sku":"tea"}`)},
}

func created(context.Context) (idempotency.Result, error) {
	return idempotency.Result{Response: idempotency.Response{Status: 201}}, nil
}

func TestDo_ReplaysOnlyTheSameRequest(t *testing.T) {
	t.Parallel()
	stored := idempotency.Record{
		Claim:    idempotency.Claim{ID: request.ID, Fingerprint: request.Content.Fingerprint()},
		Response: idempotency.Response{Status: 201, Body: []byte("secret")},
	}
	guard := guardOn(func(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error) {
		return stored, true, nil
	})

	rec, replayed, err := guard.Do(t.Context(), request, created)
	if err != nil || !replayed || string(rec.Body) != "secret" {
		t.Errorf("the same request: %+v, replayed = %v, %v", rec, replayed, err)
	}

	other := request
	other.Content.Body = []byte(`{"sku":"coffee"}`)
	rec, replayed, err = guard.Do(t.Context(), other, created)
	if !errors.Is(err, idempotency.ErrKeyReused) || replayed || rec.Body != nil {
		t.Errorf("another request: %+v, replayed = %v, %v; want ErrKeyReused and no record", rec, replayed, err)
	}
}

// A copy of the request that comes late runs nothing. Another request learns nothing.
func TestDo_RefusesASpentKey(t *testing.T) {
	t.Parallel()
	stored := idempotency.Record{
		Claim:    idempotency.Claim{ID: request.ID, Fingerprint: request.Content.Fingerprint()},
		Response: idempotency.Response{Status: 402, Body: []byte("secret")}, Spent: true,
	}
	guard := guardOn(func(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error) {
		return stored, true, nil
	})
	other := request
	other.Content.Body = []byte(`{"sku":"coffee"}`)
	for want, r := range map[error]idempotency.Request{idempotency.ErrKeySpent: request, idempotency.ErrKeyReused: other} {
		rec, replayed, err := guard.Do(t.Context(), r, created)
		if !errors.Is(err, want) || replayed || rec.Body != nil {
			t.Errorf("%+v, replayed = %v, %v; want %v and no record", rec, replayed, err, want)
		}
	}
}

func TestDo_FailsForAFingerprintOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	guard := guardOn(func(_ context.Context, c idempotency.Claim, _ idempotency.Command) (idempotency.Record, bool, error) {
		c.Fingerprint = "\xffwritten by a newer release"
		return idempotency.Record{Claim: c}, true, nil
	})
	_, replayed, err := guard.Do(t.Context(), request, created)
	if err == nil || errors.Is(err, idempotency.ErrKeyReused) || replayed {
		t.Errorf("replayed = %v, %v; want an error that does not accuse the client", replayed, err)
	}
}

func TestDo_WaitsForTheFirstRequest(t *testing.T) {
	t.Parallel()
	tries := 0
	guard := guardOn(func(ctx context.Context, c idempotency.Claim, run idempotency.Command) (idempotency.Record, bool, error) {
		tries++
		if tries < 3 {
			return inProgress(ctx, c, run)
		}
		return runAndStore(ctx, c, run)
	})
	rec, _, err := guard.Do(t.Context(), request, created)
	if err != nil || rec.Status != 201 || tries != 3 {
		t.Errorf("%+v after %d tries, %v; want the response at the third", rec, tries, err)
	}
}

func TestDo_GivesUpWaiting(t *testing.T) {
	t.Parallel()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	giveUp := func(ctx context.Context, name string, wait time.Duration) {
		guard := guardOn(inProgress)
		guard.Wait = wait
		if _, _, err := guard.Do(ctx, request, created); !errors.Is(err, idempotency.ErrInProgress) {
			t.Errorf("%s: %v, want ErrInProgress", name, err)
		}
	}
	giveUp(t.Context(), "when the wait is over", 20*time.Millisecond)
	giveUp(t.Context(), "at once without a wait", 0)
	giveUp(gone, "when the client is gone", time.Hour)
}

func TestDo_FinishesTheCommandOfAClientThatHungUp(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	rec, _, err := guardOn(runAndStore).Do(ctx, request, func(ctx context.Context) (idempotency.Result, error) {
		hangUp()
		if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
			t.Errorf("deadline: %v, error: %v; want a live context with a deadline of its own", bounded, ctx.Err())
		}
		return created(ctx)
	})
	if err != nil || rec.Status != 201 {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestNewScope_DiffersForDifferentParts(t *testing.T) {
	t.Parallel()
	seen := map[idempotency.Scope][]string{}
	for _, parts := range [][]string{
		{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a b", "c"}, {"a", "b c"}, {"a b c"},
		{"a%20b"}, {"a%", "20b"}, {"", "a"}, {"a", ""},
	} {
		scope := idempotency.NewScope(parts...)
		if other, taken := seen[scope]; taken {
			t.Errorf("%q and %q are both the scope %q", parts, other, scope)
		}
		seen[scope] = parts
	}
	if got := idempotency.NewScope("https://issuer.example", "sber-42"); got != "https://issuer.example sber-42" {
		t.Errorf("the scope of an issuer and a subject is %q", got)
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	const odd = "!#$%&'()*+-./0:<=>?@AZ[]^_`az{|}~"
	long := strings.Repeat("k", idempotency.MaxKeyLength)
	for name, c := range map[string]struct {
		sent []string
		key  string
		err  error
	}{
		"bare":                       {[]string{"key"}, "key", nil},
		"quoted":                     {[]string{`"key"`}, "key", nil},
		"case counts":                {[]string{"Key"}, "Key", nil},
		"white space around":         {[]string{" \tkey\t "}, "key", nil},
		"white space around quotes":  {[]string{"\t\"key\" "}, "key", nil},
		"every character":            {[]string{odd}, odd, nil},
		"every character, quoted":    {[]string{`"` + odd + `"`}, odd, nil},
		"as long as allowed":         {[]string{long}, long, nil},
		"as long as allowed, quoted": {[]string{`"` + long + `"`}, long, nil},
		"absent":                     {nil, "", idempotency.ErrKeyRequired},
		"empty":                      {[]string{""}, "", idempotency.ErrKeyRequired},
		"blank":                      {[]string{" \t "}, "", idempotency.ErrKeyRequired},
		"empty quotes":               {[]string{`""`}, "", idempotency.ErrKeyRequired},
		"blank quotes":               {[]string{`" "`}, "", idempotency.ErrKeyRequired},
		"one character more":         {[]string{long + "k"}, "", idempotency.ErrKeyInvalid},
		"one character more, quoted": {[]string{`"` + long + `k"`}, "", idempotency.ErrKeyInvalid},
		"twice":                      {[]string{"key", "key"}, "", idempotency.ErrKeyInvalid},
		"twice, one empty":           {[]string{"", "key"}, "", idempotency.ErrKeyInvalid},
		"twice, halves of quotes":    {[]string{`"key`, `"`}, "", idempotency.ErrKeyInvalid},
		"a list":                     {[]string{"key, other"}, "", idempotency.ErrKeyInvalid},
		"only a quote":               {[]string{`"`}, "", idempotency.ErrKeyInvalid},
		"a quote opened":             {[]string{`"key`}, "", idempotency.ErrKeyInvalid},
		"a quote closed":             {[]string{`key"`}, "", idempotency.ErrKeyInvalid},
		"a quote within":             {[]string{`k"y`}, "", idempotency.ErrKeyInvalid},
		"quotes in quotes":           {[]string{`""key""`}, "", idempotency.ErrKeyInvalid},
		"a parameter":                {[]string{"key;a=b"}, "", idempotency.ErrKeyInvalid},
		"a backslash":                {[]string{`"k\\y"`}, "", idempotency.ErrKeyInvalid},
		"a space within":             {[]string{"k y"}, "", idempotency.ErrKeyInvalid},
		"a space within quotes":      {[]string{`"key "`}, "", idempotency.ErrKeyInvalid},
		"a tab within":               {[]string{"k\ty"}, "", idempotency.ErrKeyInvalid},
		"a line break":               {[]string{"key\n"}, "", idempotency.ErrKeyInvalid},
		"a null character":           {[]string{"k\x00y"}, "", idempotency.ErrKeyInvalid},
		"a delete character":         {[]string{"key\x7f"}, "", idempotency.ErrKeyInvalid},
		"Cyrillic":                   {[]string{"ключ"}, "", idempotency.ErrKeyInvalid},
		"a byte that is not UTF-8":   {[]string{"k\xffy"}, "", idempotency.ErrKeyInvalid},
		"a space beyond ASCII":       {[]string{"\u00a0key"}, "", idempotency.ErrKeyInvalid},
	} {
		key, err := idempotency.ParseKey(c.sent)
		if !errors.Is(err, c.err) || (err == nil && key != c.key) {
			t.Errorf("%s: got %q, %v; want %q, %v", name, key, err, c.key, c.err)
		}
	}
}

// contractKey is the rule of api/openapi.yaml for the header as it is sent.
var contractKey = regexp.MustCompile(strings.ReplaceAll(`^[ \t]*(?:(KEY)|"(KEY)")[ \t]*$`, "KEY",
	`[!#$%&'()*+\-./0-9:<=>?@A-Z\[\]^_\x60a-z{|}~]{1,255}`))

// FuzzParseKey checks that ParseKey accepts exactly what the contract describes, and that
// a key is the same with and without quotes.
func FuzzParseKey(f *testing.F) {
	for _, value := range []string{
		"", " ", `"`, `""`, `" "`, "key", `"key"`, `"key`, `"k"ey"`, "a,b", `a\b`, "a;b", "ключ", "k\u00a0", "k\x00", " key\t",
		strings.Repeat("k", 255), strings.Repeat("k", 256), `"` + strings.Repeat("k", 255) + `"`,
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := idempotency.ParseKey([]string{value})
		var inContract string
		if match := contractKey.FindStringSubmatch(value); match != nil {
			inContract = match[1] + match[2]
		}
		if err != nil {
			if !errors.Is(err, idempotency.ErrKeyRequired) && !errors.Is(err, idempotency.ErrKeyInvalid) {
				t.Errorf("%q: %v", value, err)
			}
			if inContract != "" {
				t.Errorf("%q matches the contract and was refused: %v", value, err)
			}
			return
		}
		if key != inContract {
			t.Errorf("%q is parsed as %q; the contract says %q", value, key, inContract)
		}
		for _, spelled := range []string{key, `"` + key + `"`} {
			if again, err := idempotency.ParseKey([]string{spelled}); err != nil || again != key {
				t.Errorf("%q is the key %q, but %q is the key %q: %v", value, key, spelled, again, err)
			}
		}
	})
}
