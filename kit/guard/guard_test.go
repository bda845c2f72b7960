package guard_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/orders/kit/guard"
)

// stubStore answers Execute with a function.
type stubStore struct {
	execute func(context.Context, guard.Claim, guard.Command) (guard.Record, bool, error)
}

func (s stubStore) Execute(ctx context.Context, c guard.Claim, run guard.Command) (guard.Record, bool, error) {
	return s.execute(ctx, c, run)
}

// runAndStore executes the command as a store does for a key that nobody has used.
func runAndStore(ctx context.Context, c guard.Claim, run guard.Command) (guard.Record, bool, error) {
	result, err := run(ctx)
	return guard.Record{Claim: c, Response: result.Response}, false, err
}

// inProgress answers as a store does while another request holds the key.
func inProgress(context.Context, guard.Claim, guard.Command) (guard.Record, bool, error) {
	return guard.Record{}, false, guard.ErrInProgress
}

func guardOn(execute func(context.Context, guard.Claim, guard.Command) (guard.Record, bool, error)) guard.Guard {
	return guard.Guard{Store: stubStore{execute}, Wait: time.Minute, Timeout: time.Minute}
}

var request = guard.Request{
	ID:        guard.ID{Scope: "issuer alice", Key: "key-1"},
	Operation: "createOrder",
	Content:   guard.Content{Method: "POST", Segments: []string{"", "orders"}, Body: []byte(`{"sku":"tea"}`)},
}

func created(context.Context) (guard.Result, error) {
	return guard.Result{Response: guard.Response{Status: 201}}, nil
}

func TestDo_ReplaysOnlyTheSameRequest(t *testing.T) {
	t.Parallel()
	stored := guard.Record{
		Claim:    guard.Claim{ID: request.ID, Fingerprint: request.Content.Fingerprint()},
		Response: guard.Response{Status: 201, Body: []byte("secret")},
	}
	g := guardOn(func(context.Context, guard.Claim, guard.Command) (guard.Record, bool, error) {
		return stored, true, nil
	})

	rec, replayed, err := g.Do(t.Context(), request, created)
	if err != nil || !replayed || string(rec.Body) != "secret" {
		t.Errorf("the same request: %+v, replayed = %v, %v", rec, replayed, err)
	}

	other := request
	other.Content.Body = []byte(`{"sku":"coffee"}`)
	rec, replayed, err = g.Do(t.Context(), other, created)
	if !errors.Is(err, guard.ErrKeyReused) || replayed || rec.Body != nil {
		t.Errorf("another request: %+v, replayed = %v, %v; want ErrKeyReused and no record", rec, replayed, err)
	}
}

// A copy of the request that comes late runs nothing. Another request learns nothing.
func TestDo_RefusesASpentKey(t *testing.T) {
	t.Parallel()
	stored := guard.Record{
		Claim:    guard.Claim{ID: request.ID, Fingerprint: request.Content.Fingerprint()},
		Response: guard.Response{Status: 402, Body: []byte("secret")}, Spent: true,
	}
	g := guardOn(func(context.Context, guard.Claim, guard.Command) (guard.Record, bool, error) {
		return stored, true, nil
	})
	other := request
	other.Content.Body = []byte(`{"sku":"coffee"}`)
	for want, r := range map[error]guard.Request{guard.ErrKeySpent: request, guard.ErrKeyReused: other} {
		rec, replayed, err := g.Do(t.Context(), r, created)
		if !errors.Is(err, want) || replayed || rec.Body != nil {
			t.Errorf("%+v, replayed = %v, %v; want %v and no record", rec, replayed, err, want)
		}
	}
}

func TestDo_FailsForAFingerprintOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	g := guardOn(func(_ context.Context, c guard.Claim, _ guard.Command) (guard.Record, bool, error) {
		c.Fingerprint = "\xffwritten by a newer release"
		return guard.Record{Claim: c}, true, nil
	})
	_, replayed, err := g.Do(t.Context(), request, created)
	if err == nil || errors.Is(err, guard.ErrKeyReused) || replayed {
		t.Errorf("replayed = %v, %v; want an error that does not accuse the client", replayed, err)
	}
}

func TestDo_WaitsForTheFirstRequest(t *testing.T) {
	t.Parallel()
	tries := 0
	g := guardOn(func(ctx context.Context, c guard.Claim, run guard.Command) (guard.Record, bool, error) {
		tries++
		if tries < 3 {
			return inProgress(ctx, c, run)
		}
		return runAndStore(ctx, c, run)
	})
	rec, _, err := g.Do(t.Context(), request, created)
	if err != nil || rec.Status != 201 || tries != 3 {
		t.Errorf("%+v after %d tries, %v; want the response at the third", rec, tries, err)
	}
}

func TestDo_GivesUpWaiting(t *testing.T) {
	t.Parallel()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	giveUp := func(ctx context.Context, name string, wait time.Duration) {
		g := guardOn(inProgress)
		g.Wait = wait
		if _, _, err := g.Do(ctx, request, created); !errors.Is(err, guard.ErrInProgress) {
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
	rec, _, err := guardOn(runAndStore).Do(ctx, request, func(ctx context.Context) (guard.Result, error) {
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

func TestKeyOf_ReturnsTheKeyOfTheCommand(t *testing.T) {
	t.Parallel()
	rec, _, err := guardOn(runAndStore).Do(t.Context(), request, func(ctx context.Context) (guard.Result, error) {
		if key := guard.KeyOf(ctx); key != request.Key {
			t.Errorf("the key is %q, want %q", key, request.Key)
		}
		return created(ctx)
	})
	if err != nil || rec.Status != 201 {
		t.Errorf("%+v, %v", rec, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("outside of a command there is a key")
		}
	}()
	_ = guard.KeyOf(t.Context())
}

func TestNewScope_DiffersForDifferentParts(t *testing.T) {
	t.Parallel()
	seen := map[guard.Scope][]string{}
	for _, parts := range [][]string{
		{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a b", "c"}, {"a", "b c"}, {"a b c"},
		{"a%20b"}, {"a%", "20b"}, {"", "a"}, {"a", ""},
	} {
		scope := guard.NewScope(parts...)
		if other, taken := seen[scope]; taken {
			t.Errorf("%q and %q are both the scope %q", parts, other, scope)
		}
		seen[scope] = parts
	}
	if got := guard.NewScope("https://issuer.example", "sber-42"); got != "https://issuer.example sber-42" {
		t.Errorf("the scope of an issuer and a subject is %q", got)
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	const odd = "!#$%&'()*+-./0:<=>?@AZ[]^_`az{|}~"
	long := strings.Repeat("k", guard.MaxKeyLength)
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
		"absent":                     {nil, "", guard.ErrKeyRequired},
		"empty":                      {[]string{""}, "", guard.ErrKeyRequired},
		"blank":                      {[]string{" \t "}, "", guard.ErrKeyRequired},
		"empty quotes":               {[]string{`""`}, "", guard.ErrKeyRequired},
		"blank quotes":               {[]string{`" "`}, "", guard.ErrKeyRequired},
		"one character more":         {[]string{long + "k"}, "", guard.ErrKeyInvalid},
		"one character more, quoted": {[]string{`"` + long + `k"`}, "", guard.ErrKeyInvalid},
		"twice":                      {[]string{"key", "key"}, "", guard.ErrKeyInvalid},
		"twice, one empty":           {[]string{"", "key"}, "", guard.ErrKeyInvalid},
		"twice, halves of quotes":    {[]string{`"key`, `"`}, "", guard.ErrKeyInvalid},
		"a list":                     {[]string{"key, other"}, "", guard.ErrKeyInvalid},
		"only a quote":               {[]string{`"`}, "", guard.ErrKeyInvalid},
		"a quote opened":             {[]string{`"key`}, "", guard.ErrKeyInvalid},
		"a quote closed":             {[]string{`key"`}, "", guard.ErrKeyInvalid},
		"a quote within":             {[]string{`k"y`}, "", guard.ErrKeyInvalid},
		"quotes in quotes":           {[]string{`""key""`}, "", guard.ErrKeyInvalid},
		"a parameter":                {[]string{"key;a=b"}, "", guard.ErrKeyInvalid},
		"a backslash":                {[]string{`"k\\y"`}, "", guard.ErrKeyInvalid},
		"a space within":             {[]string{"k y"}, "", guard.ErrKeyInvalid},
		"a space within quotes":      {[]string{`"key "`}, "", guard.ErrKeyInvalid},
		"a tab within":               {[]string{"k\ty"}, "", guard.ErrKeyInvalid},
		"a line break":               {[]string{"key\n"}, "", guard.ErrKeyInvalid},
		"a null character":           {[]string{"k\x00y"}, "", guard.ErrKeyInvalid},
		"a delete character":         {[]string{"key\x7f"}, "", guard.ErrKeyInvalid},
		"Cyrillic":                   {[]string{"ключ"}, "", guard.ErrKeyInvalid},
		"a byte that is not UTF-8":   {[]string{"k\xffy"}, "", guard.ErrKeyInvalid},
		"a space beyond ASCII":       {[]string{"\u00a0key"}, "", guard.ErrKeyInvalid},
	} {
		key, err := guard.ParseKey(c.sent)
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
		key, err := guard.ParseKey([]string{value})
		var inContract string
		if match := contractKey.FindStringSubmatch(value); match != nil {
			inContract = match[1] + match[2]
		}
		if err != nil {
			if !errors.Is(err, guard.ErrKeyRequired) && !errors.Is(err, guard.ErrKeyInvalid) {
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
			if again, err := guard.ParseKey([]string{spelled}); err != nil || again != key {
				t.Errorf("%q is the key %q, but %q is the key %q: %v", value, key, spelled, again, err)
			}
		}
	})
}
