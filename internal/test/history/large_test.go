package history_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/orders/internal/test/history"
)

const largeKeys = 5000

// large returns a history of four attempts on each of 5000 keys, which credit and
// charge 20 accounts, and the ledger at its end. The first attempt of every tenth key
// is unknown. Some twenty operations overlap at any time.
func large(random *rand.Rand) (h attempts, ledger []history.Entry) {
	balances, positions := map[string]int64{}, map[string]int64{}
	for n := range largeKeys {
		account, key, change := fmt.Sprintf("customer-%d RUB", n%20), fmt.Sprintf("k%d", n), random.Int64N(100)-40
		done := func(start, end int, result string) history.Attempt {
			return of(key, refused(start, end, result))
		}
		if balances[account]+change >= 0 {
			balances[account] += change
			positions[account]++
			e := entry(key, positions[account], change, balances[account])
			e.Account = account
			ledger = append(ledger, e)
			done = func(start, end int, result string) history.Attempt {
				return leaving(e.After, of(key, success(start, end, result)))
			}
		}
		moment := 10 * n
		begin, end := moment-random.IntN(100), moment+random.IntN(100)
		first := done(begin, end, "created")
		if n%10 == 0 {
			first = of(key, unknown(begin, end))
		}
		all := attempts{first, done(moment, moment+50, "reused"), done(moment+5, moment+70, "reused"), done(moment+200, moment+210, "reused")}
		for _, a := range all {
			a = on(change, a)
			a.Account = account
			h = append(h, a)
		}
	}
	return h, ledger
}

func TestCheck_LargeHistory(t *testing.T) {
	t.Parallel()
	h, ledger := large(rand.New(rand.NewPCG(13, 13)))
	wantRules(t, history.Check(h, history.Options{Ledger: ledger}))

	last := &ledger[len(ledger)-1]
	last.Change, last.After = last.Change+1, last.After+1
	wantRules(t, history.Check(h, history.Options{Ledger: ledger}), history.LedgerAgrees)
}

// The ledger settles what is unknown. Without it, the checker has to search, and finds
// an order as well.
func BenchmarkCheck(b *testing.B) {
	h, ledger := large(rand.New(rand.NewPCG(13, 13)))
	for name, opt := range map[string]history.Options{"with the ledger": {Ledger: ledger}, "without": {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if found := history.Check(h, opt); len(found) > 0 {
					b.Fatal(found)
				}
			}
		})
	}
}
