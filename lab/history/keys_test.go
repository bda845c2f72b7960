package history_test

import (
	"testing"

	"example.com/orders/lab/history"
)

func TestCheck_AcceptsGoodKeys(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]attempts{
		"one attempt":                          {created(0, 10)},
		"a replay":                             {created(0, 10), reused(20, 30)},
		"concurrent retries":                   {created(0, 30), reused(5, 20), reused(6, 40)},
		"a replay of a slow response":          {created(0, 100), reused(10, 20)},
		"a stored refusal":                     {refused(0, 10, "created"), refused(20, 30, "reused")},
		"an unknown outcome, never":            {unknown(0, 10), created(20, 30)},
		"an unknown outcome, later":            {unknown(0, 10), lookup(20, 30, ""), reused(40, 50)},
		"an unknown outcome that refused":      {unknown(0, 10), refused(20, 30, "reused")},
		"unknown outcomes only":                {unknown(0, 10), unknown(20, 30)},
		"an unknown outcome of another body":   {unknown(0, 10), keyReused(20, 30)},
		"another body, then the first":         {created(0, 10), keyReused(20, 30), reused(40, 50)},
		"another body at the same time":        {created(0, 40), keyReused(5, 50)},
		"in progress":                          {created(0, 50), inProgress(10, 20), reused(60, 70)},
		"in progress after an unknown outcome": {unknown(0, 10), inProgress(30, 40), reused(60, 70)},
		"in progress behind a slow replay":     {elsewhere(created(0, 10)), reused(11, 60), inProgress(20, 30)},
		"in progress behind a retry that hung": {elsewhere(created(0, 16)), unknown(16, 43), inProgress(44, 5045), unknown(5065, 15010), elsewhere(reused(15044, 15048))},
		"in progress with a key lost twice":    {inProgress(0, 2500), inProgress(10, 600), inProgress(2400, 4500), created(4000, 5000)},
		"look-ups":                             {lookup(0, 5, ""), created(10, 50), lookup(12, 20, "in_progress"), lookup(60, 70, "completed")},
		"a look-up of an unknown outcome":      {unknown(0, 10), lookup(20, 30, "completed"), reused(40, 50)},
		"problems before it ran":               {problem(0, 5, 429, "rate_limited"), problem(6, 9, 404, "not_found"), created(10, 20)},
		"expiry, then the second line":         {created(0, 10), expiry(20, 30), answer("again", bySecondLine(40, 50)), answer("again", reused(60, 70))},
		"expiry, then the same bytes":          {created(0, 10), expiry(20, 30), lookup(32, 35, ""), reused(40, 50), lookup(60, 70, "completed")},
		"expiry, then a process remembers":     {created(0, 10), expiry(20, 30), reused(40, 50), lookup(60, 70, "")},
		"expiry, then another body":            {created(0, 10), expiry(20, 30), keyReused(40, 50)},
		"expiry of a refusal":                  {refused(0, 10, "created"), expiry(20, 30), created(40, 50)},
		"expiry of an unknown outcome":         {unknown(0, 10), expiry(20, 30), reused(40, 50), lookup(60, 70, "completed")},
		"expiry of an unknown refusal":         {unknown(0, 10), expiry(20, 30), refused(40, 50, "reused"), lookup(60, 70, "")},
		"a process remembers a refusal":        {unknown(0, 10), expiry(20, 30), created(40, 50), refused(60, 70, "reused"), reused(80, 90)},
		"expiry without a record":              {expiry(0, 5), created(10, 20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRules(t, history.Check(h, history.Options{}))
		})
	}
}

func TestCheck_ReportsBadKeys(t *testing.T) {
	t.Parallel()
	lookupOf := func(command string) history.Attempt {
		a := lookup(20, 30, "completed")
		a.Record.Command = command
		return a
	}
	silent, failure, otherEffect := created(0, 10), unknown(0, 10), answer("again", reused(40, 50))
	silent.Result, failure.Result, failure.Status, otherEffect.Effect = "", "reused", 503, "entry 2"
	for name, c := range map[string]struct {
		history attempts
		want    history.Rule
	}{
		"created twice":                       {attempts{created(0, 10), created(20, 30)}, history.OneCreation},
		"created twice, after expiry":         {attempts{created(0, 10), expiry(20, 30), answer("again", created(40, 50))}, history.OneCreation},
		"two answers":                         {attempts{created(0, 10), answer("second", reused(20, 30))}, history.OneResponse},
		"no record of an effect":              {attempts{unknown(0, 10), bySecondLine(20, 30)}, history.RecordKept},
		"no record before its expiry":         {attempts{created(0, 10), bySecondLine(12, 15), expiry(20, 30)}, history.RecordKept},
		"a refusal after a success":           {attempts{created(0, 10), refused(20, 30, "reused")}, history.OneResponse},
		"a success without a result":          {attempts{silent}, history.ResultSaid},
		"a stored failure":                    {attempts{failure}, history.NoStoredFailure},
		"a stored 404":                        {attempts{func() history.Attempt { a := refused(0, 9, "created"); a.Status = 404; return a }()}, history.NoStoredFailure},
		"reused with one body":                {attempts{created(0, 10), problem(20, 30, 409, "idempotency_key_reused")}, history.ReusedByAnother},
		"reused before the other body":        {attempts{keyReused(0, 5), created(10, 20)}, history.ReusedByAnother},
		"in progress with nobody":             {attempts{inProgress(0, 5), created(10, 20)}, history.ProgressOfAnother},
		"in progress after a 404":             {attempts{problem(0, 5, 404, "not_found"), inProgress(6, 9)}, history.ProgressOfAnother},
		"in progress after the end":           {attempts{created(0, 10), elsewhere(unknown(11, 12)), lookup(20, 30, "completed"), inProgress(20, 30), inProgress(20, 30)}, history.KeyOrder},
		"in progress after each replay":       {attempts{created(0, 10), reused(11, 19), inProgress(20, 30), elsewhere(reused(20, 30)), reused(31, 40)}, history.KeyOrder},
		"in progress after each deadline":     {attempts{created(0, 10), unknown(11, 12), inProgress(10_013, 10_020)}, history.KeyOrder},
		"a replay before the first":           {attempts{reused(0, 5), created(10, 20)}, history.KeyOrder},
		"a replay of nothing":                 {attempts{reused(0, 5)}, history.KeyOrder},
		"created after an answer":             {attempts{unknown(0, 5), reused(10, 20), created(30, 40)}, history.KeyOrder},
		"another body that ran":               {attempts{unknown(0, 5), reused(10, 20), other(reused(30, 40))}, history.KeyOrder},
		"reused by a body that refuses later": {attempts{unknown(0, 5), keyReused(6, 8), other(refused(9, 12, "reused"))}, history.KeyOrder},
		"reused by a body that never ran":     {attempts{created(0, 10), keyReused(11, 12), problem(20, 30, 409, "idempotency_key_reused")}, history.KeyOrder},
		"refused twice":                       {attempts{unknown(0, 5), refused(10, 20, "reused"), refused(30, 40, "created")}, history.KeyOrder},
		"created after a look-up":             {attempts{unknown(0, 5), lookup(6, 8, "completed"), expiry(10, 20), created(30, 40)}, history.KeyOrder},
		"the effect of another body":          {attempts{created(0, 10), other(unknown(1, 2)), expiry(20, 30), other(reused(40, 50))}, history.KeyOrder},
		"a look-up forgets":                   {attempts{created(0, 10), lookup(20, 30, "")}, history.KeyOrder},
		"a look-up is in progress":            {attempts{created(0, 10), unknown(11, 12), lookup(20, 30, "in_progress")}, history.KeyOrder},
		"a look-up before anything":           {attempts{lookup(0, 5, "completed"), created(10, 20)}, history.KeyOrder},
		"a look-up of another command":        {attempts{created(0, 10), lookupOf("createOrder")}, history.KeyOrder},
		"two look-ups differ":                 {attempts{created(0, 10), lookup(20, 30, "completed"), answer("else", lookup(40, 50, "completed"))}, history.KeyOrder},
		"refused after an unknown success":    {attempts{unknown(0, 10), lookup(20, 30, "completed"), refused(40, 50, "reused")}, history.KeyOrder},
		"another effect after expiry":         {attempts{created(0, 10), expiry(20, 30), otherEffect}, history.OneEffect},
		"two answers after expiry":            {attempts{created(0, 10), expiry(20, 30), answer("b", reused(40, 50)), answer("c", reused(60, 70))}, history.KeyOrder},
		"a refusal after expiry":              {attempts{created(0, 10), expiry(20, 30), refused(40, 50, "created")}, history.KeyOrder},
		"another body after expiry":           {attempts{reused(0, 10), unknown(0, 5), expiry(20, 30), other(created(40, 50))}, history.KeyOrder},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRules(t, history.Check(c.history, history.Options{}), c.want)
		})
	}
}

// An attempt that held the key and lost it to another one explains short attempts. It needs
// that other one itself.
func TestCheck_AKeyIsLostToSomebody(t *testing.T) {
	t.Parallel()
	lost := attempts{inProgress(0, 2500), inProgress(100, 600), inProgress(200, 3000)}
	each := []history.Rule{history.ProgressOfAnother, history.ProgressOfAnother, history.ProgressOfAnother}
	wantRules(t, history.Check(append(lost, created(3001, 3010)), history.Options{}), each...)
	wantRules(t, history.Check(append(lost, created(2999, 3010)), history.Options{}))

	tooShort := attempts{inProgress(0, 1999), inProgress(100, 600), created(1000, 3000)}
	wantRules(t, history.Check(tooShort, history.Options{}), history.ProgressOfAnother)
}

func TestCheck_KeysHaveOneOwner(t *testing.T) {
	t.Parallel()
	mallory := func(a history.Attempt) history.Attempt {
		a.Scope = "mallory"
		return a
	}
	ofOrder := func(a history.Attempt) history.Attempt {
		a.Operation, a.Effect = "cancelOrder", "order 1"
		return a
	}
	for name, c := range map[string]struct {
		history attempts
		want    []history.Rule
	}{
		"equal keys of two principals":  {attempts{created(0, 10), mallory(of("2", created(20, 30)))}, nil},
		"two commands on one order":     {attempts{ofOrder(created(0, 10)), mallory(answer("else", ofOrder(created(20, 30))))}, nil},
		"a shared response":             {attempts{ofOrder(created(0, 10)), mallory(ofOrder(created(20, 30)))}, []history.Rule{history.OneOwner}},
		"a shared effect":               {attempts{created(0, 10), mallory(answer("else", created(20, 30)))}, []history.Rule{history.OneOwner}},
		"an effect that is lost before": {attempts{created(0, 10), failover(20, 30), mallory(answer("else", created(40, 50)))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRules(t, history.Check(c.history, history.Options{}), c.want...)
		})
	}
}
