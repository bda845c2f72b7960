package history_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/lab/history"
)

// effects returns how many effects the database has for each key of Alice.
func effects(keys ...string) map[history.ID]int {
	found := map[history.ID]int{}
	for _, key := range keys {
		found[history.ID{Scope: "alice", Key: key}]++
	}
	return found
}

func TestCompareWithDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		history attempts
		effects map[history.ID]int
		want    []history.Rule
	}{
		"an effect":                      {attempts{created(0, 10)}, effects("k"), nil},
		"effects of others":              {attempts{created(0, 10)}, effects("k", "setup", "setup"), nil},
		"an unknown effect":              {attempts{unknown(0, 10)}, effects("k"), nil},
		"no unknown effect":              {attempts{unknown(0, 10)}, effects(), nil},
		"a refusal":                      {attempts{refused(0, 10, "created")}, effects(), nil},
		"a refusal after expiry":         {attempts{refused(0, 10, "created"), expiry(11, 12), unknown(13, 14)}, effects("k"), nil},
		"look-ups are no effects":        {attempts{lookup(0, 10, "completed")}, effects(), nil},
		"a double effect":                {attempts{created(0, 10)}, effects("k", "k"), []history.Rule{history.OneEffect}},
		"a double unknown effect":        {attempts{unknown(0, 10)}, effects("k", "k"), []history.Rule{history.OneEffect}},
		"a lost effect":                  {attempts{created(0, 10)}, effects(), []history.Rule{history.EffectKept}},
		"a lost effect that is replayed": {attempts{failover(0, 10), reused(20, 30)}, effects(), []history.Rule{history.EffectKept}},
		"a refused effect":               {attempts{refused(0, 10, "created")}, effects("k"), []history.Rule{history.NoRefusedEffect}},
		"the effect of a 404":            {attempts{problem(0, 10, 404, "not_found")}, effects("k"), []history.Rule{history.NoRefusedEffect}},
		"lost by a failover":             {attempts{created(0, 10), failover(20, 30)}, effects(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRules(t, history.CompareWithDatabase(c.history, c.effects), c.want...)
		})
	}
}

func TestLosses(t *testing.T) {
	t.Parallel()
	early, late := of("1", created(0, 10)), of("2", created(20, 30))
	again := answer("again", of("2", created(60, 70)))
	for name, c := range map[string]struct {
		history attempts
		effects map[history.ID]int
		lost    []string
		want    []history.Rule
	}{
		"nothing":                     {attempts{early, late, failover(40, 50)}, effects("1", "2"), nil, nil},
		"no failover":                 {attempts{early, late}, effects(), nil, nil},
		"the last commit":             {attempts{early, late, failover(40, 50)}, effects("1"), []string{"2"}, nil},
		"everything":                  {attempts{early, late, failover(40, 50)}, effects(), []string{"1", "2"}, nil},
		"a commit before a kept one":  {attempts{early, late, failover(40, 50)}, effects("2"), []string{"1"}, []history.Rule{history.LastCommitsLost}},
		"one of two at the same time": {attempts{early, of("2", created(5, 30)), failover(40, 50)}, effects("2"), []string{"1"}, nil},
		"what is done again":          {attempts{early, late, failover(40, 50), again}, effects("1", "2"), []string{"2"}, nil},
		"before what is done again":   {attempts{early, late, failover(40, 50), again}, effects("2"), []string{"1", "2"}, nil},
		"before what may be again": {attempts{early, late, failover(40, 50), of("2", unknown(60, 70))},
			effects("2"), []string{"1"}, nil},
		"before what is replayed": {attempts{early, late, failover(40, 50), of("2", unknown(51, 60)), of("2", reused(60, 70))},
			effects("2"), []string{"1"}, []history.Rule{history.LastCommitsLost}},
		"an answer during the failover": {attempts{of("1", created(35, 45)), failover(40, 50)}, effects(), []string{"1"}, nil},
		"a refusal":                     {attempts{of("1", refused(0, 10, "created")), failover(40, 50)}, effects(), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			losses, found := history.Losses(c.history, c.effects)
			var lost []string
			for _, loss := range losses {
				lost = append(lost, loss.Key)
			}
			if diff := cmp.Diff(c.lost, lost); diff != "" {
				t.Errorf("lost keys (-want +got):\n%s", diff)
			}
			wantRules(t, found, c.want...)
		})
	}
}

// Two answers are allowed only across a failover, and what is kept has its first.
func TestCheck_OneAnswerForEachDatabase(t *testing.T) {
	t.Parallel()
	again := func(a history.Attempt) history.Attempt { return answer("again", a) }
	for name, c := range map[string]struct {
		history attempts
		want    []history.Rule
	}{
		"kept":                       {attempts{created(0, 10), failover(20, 30), reused(40, 50)}, nil},
		"lost":                       {attempts{created(0, 10), failover(20, 30), lookup(32, 35, ""), again(created(40, 50)), again(reused(60, 70))}, nil},
		"during the failover":        {attempts{created(0, 22), failover(20, 30), again(created(40, 50))}, nil},
		"an old attempt runs":        {attempts{unknown(0, 10), failover(20, 30), lookup(32, 35, ""), reused(40, 50)}, nil},
		"another body had the key":   {attempts{other(created(0, 10)), failover(20, 30), problem(40, 50, 409, "idempotency_key_reused")}, nil},
		"another body takes the key": {attempts{other(created(0, 10)), failover(20, 30), again(created(40, 50))}, nil},
		"kept after expiry":          {attempts{created(0, 10), expiry(12, 15), failover(20, 30), again(reused(40, 50))}, nil},
		"kept with another answer":   {attempts{created(0, 10), failover(20, 30), again(reused(40, 50))}, []history.Rule{history.KeyOrder}},
		"two answers afterwards":     {attempts{created(0, 10), failover(20, 30), reused(32, 35), again(created(40, 50))}, []history.Rule{history.OneResponse}},
		"created twice afterwards":   {attempts{failover(0, 10), created(20, 30), created(40, 50)}, []history.Rule{history.OneCreation}},
		"lost, and replayed again":   {attempts{created(0, 10), failover(20, 30), lookup(32, 35, ""), reused(40, 50)}, []history.Rule{history.KeyOrder}},
		"kept, and then lost":        {attempts{created(0, 10), failover(20, 30), reused(32, 35), lookup(40, 50, "")}, []history.Rule{history.KeyOrder}},
		"two answers before":         {attempts{created(0, 10), again(reused(12, 15)), failover(20, 30)}, []history.Rule{history.OneResponse}},
		"back, from a backup":        {attempts{created(0, 10), failover(20, 30), lookup(32, 35, ""), failover(40, 50), reused(60, 70)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRules(t, history.Check(c.history, history.Options{}), c.want...)
		})
	}
}
