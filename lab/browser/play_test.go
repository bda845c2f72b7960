//go:build browser

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// playground is the page /play in a tab.
type playground struct {
	*Tab
	dev *OrdersDev
}

// openPlayground opens /play of a new orders-dev, and waits until its replicas run.
func openPlayground(t *testing.T) playground {
	t.Helper()
	p := playground{OpenTab(t), StartOrdersDev(t)}
	p.Open(t, p.dev.URL+"/play", "light", 1280, 900)
	p.awaitReady(t)
	return p
}

func (p playground) awaitReady(t *testing.T) {
	t.Helper()
	p.Await(t, `document.body.dataset.running === 'false'`)
	if status := p.text(t, "#status"); status != "Ready" {
		t.Fatalf("the page says %q", status)
	}
}

// press presses the button of a scenario, and waits until it has ended.
func (p playground) press(t *testing.T, scenario string) {
	t.Helper()
	p.Do(t, chromedp.Click("[data-scenario="+scenario+"]"))
	p.awaitReady(t)
}

// text returns the text of an element.
func (p playground) text(t *testing.T, selector string) string {
	t.Helper()
	return Eval[string](t, p.Tab, "return document.querySelector("+quote(selector)+").textContent.trim()")
}

// shownAttempt is an attempt as the time line shows it.
type shownAttempt struct {
	Attempt, Effect, Answer, Told, Sent, Received string
	Bar                                           float64 // its share of the axis
}

// attempts returns the attempts that the time line shows for the current payment.
func (p playground) attempts(t *testing.T) []shownAttempt {
	t.Helper()
	return Eval[[]shownAttempt](t, p.Tab, `
		const payment = document.querySelector('#payment').textContent;
		return [...document.querySelectorAll('[data-payment="' + payment + '"]')].map(item => ({
			Attempt: item.dataset.attempt, Effect: item.dataset.effect,
			Answer: item.querySelector('.answer .label').textContent, Bar: item.querySelector('.bar').offsetWidth / item.querySelector('.axis').offsetWidth,
			Told: item.querySelector('.told').textContent, Sent: item.querySelector('.sent').textContent, Received: item.querySelector('.received').textContent,
		}));`)
}

// wantEffects fails the test unless the attempts of the current payment had these effects, in
// any order.
func (p playground) wantEffects(t *testing.T, want ...string) []shownAttempt {
	t.Helper()
	shown := p.attempts(t)
	got := map[string]int{}
	for _, a := range shown {
		got[a.Effect]++
	}
	for _, effect := range want {
		got[effect]--
	}
	for effect, difference := range got {
		if difference != 0 {
			t.Fatalf("%+d attempts with the effect %s, of %+v; want %q", difference, effect, shown, want)
		}
	}
	return shown
}

// wantMoved compares how often the page says that the payment moved the balance with the
// database, and both with times.
func (p playground) wantMoved(t *testing.T, times int, said string) {
	t.Helper()
	payment := p.text(t, "#payment")
	stored := Query[struct {
		Entries int
		Balance string
	}](t, p.dev, "playground", `
		SELECT count(*), (SELECT to_char(amount, 'FM999,990.00') FROM balance b WHERE b.customer_id = e.customer_id)
		FROM ledger_entry e WHERE description = 'payment ' || $1::text GROUP BY customer_id`, payment)
	if stored.Entries != times {
		t.Errorf("payment %s has %d ledger entries, want %d", payment, stored.Entries, times)
	}
	if shown := p.text(t, "#balance"); shown != stored.Balance || !strings.Contains(shown, ",") {
		t.Errorf("the page shows the balance %s, the database has %s", shown, stored.Balance)
	}
	if moved := p.text(t, "#moved"); !strings.HasPrefix(moved, "Moved "+said+": ") || !strings.HasSuffix(moved, " → "+stored.Balance) {
		t.Errorf("the page says %q", moved)
	}
	verdict := p.text(t, ".timeline li:last-child")
	if !strings.HasPrefix(verdict, "Payment "+payment+":") || !strings.HasSuffix(verdict, " → "+stored.Balance+".") || !strings.Contains(verdict, "moved "+said) {
		t.Errorf("the last line is %q, the balance %s", verdict, stored.Balance)
	}
	if row := p.text(t, "#ledger tr"); !strings.HasPrefix(row, "payment "+payment) || !strings.HasSuffix(row, stored.Balance) {
		t.Errorf("the first row of the ledger is %q", row)
	}
}

// One playground, whose buttons are pressed one after the other.
func TestPlay(t *testing.T) {
	t.Parallel()
	p := openPlayground(t)
	p.WantAccessible(t, "before the first press", "body")
	for _, c := range []struct {
		name string
		test func(*testing.T, playground)
	}{
		{"pay twice at once", payTwiceAtOnce},
		{"lose the response", loseResponse},
		{"change the body", changeBody},
		{"pay in the middle of a race", payInARace},
		{"kill the server", killServer},
		{"wait past expiry", func(t *testing.T, p playground) { p.press(t, "expire"); p.wantEffects(t, "committed", "recognised") }},
		{"pay by keyboard", payByKeyboard},
	} {
		if !t.Run(c.name, func(t *testing.T) {
			c.test(t, p)
			p.wantMoved(t, 1, "once")
			p.WantAccessible(t, "after "+c.name, "body")
		}) {
			return // the next one begins where this one ended
		}
	}
	t.Run("lose a webhook", func(t *testing.T) { loseWebhook(t, p) })
	t.Run("pay twice without the guard", func(t *testing.T) { payUnguarded(t, p) })
	t.Run("fits small screens", func(t *testing.T) { fitsSmallScreens(t, p) })
	t.Run("loads only its own files", func(t *testing.T) { loadsOnlyItsOwnFiles(t, p) })
}

// twoPresses presses Pay again before the first press has an answer.
const twoPresses = `for (const press of [1, 2]) document.querySelector('[data-scenario=pay]').click()`

func payTwiceAtOnce(t *testing.T, p playground) {
	p.Do(t, chromedp.Evaluate[chromedp.Void](twoPresses))
	p.awaitReady(t)

	shown := p.wantEffects(t, "committed", "replayed")
	both := shown[0].Received + shown[1].Received
	if shown[0].Sent != shown[1].Sent || !strings.Contains(both, "Idempotency-Result: reused\nIdempotent-Replayed: true") {
		t.Errorf("the page shows %+v", shown)
	}
}

func payUnguarded(t *testing.T, p playground) {
	p.press(t, "new")
	p.Do(t, chromedp.Click("[name=guard][value=off]"))
	p.awaitReady(t)
	p.Do(t, chromedp.Evaluate[chromedp.Void](twoPresses))
	p.awaitReady(t)

	p.wantEffects(t, "committed", "committed")
	p.wantMoved(t, 2, "twice")
	p.WantAccessible(t, "without the guard", "body")
}

func loseResponse(t *testing.T, p playground) {
	p.press(t, "lose")

	shown := p.wantEffects(t, "committed", "replayed")
	if shown[0].Answer != "201 created lost" || shown[1].Answer != "201 reused" || shown[0].Bar > 0.999 {
		t.Errorf("the page shows %+v", shown)
	}
}

func loseWebhook(t *testing.T, p playground) {
	p.press(t, "webhook")

	if verdict := p.text(t, ".verdict.right:last-child"); !strings.HasSuffix(verdict, "the shop acted on it once.") {
		t.Errorf("the last line is %q", verdict)
	}
	p.WantAccessible(t, "after a webhook that is lost", "body")
}

// The payment of the lost response is paid: the other body has its key.
func changeBody(t *testing.T, p playground) {
	p.press(t, "change")

	shown := p.wantEffects(t, "committed", "replayed", "refused")
	if last := shown[len(shown)-1]; !strings.Contains(last.Told, "409 idempotency_key_reused") || strings.Contains(last.Received, "balance_after") {
		t.Errorf("the page says %s, and received %s", last.Told, last.Received)
	}
}

// Pay works while another scenario runs.
func payInARace(t *testing.T, p playground) {
	Eval[chromedp.Void](t, p.Tab, `
		const attempts = () => document.querySelectorAll('.attempt').length, before = attempts();
		document.querySelector('[data-scenario=race]').click();
		while (attempts() < before + 2) await new Promise(requestAnimationFrame);
		document.querySelector('[data-scenario=pay]').click();`)
	p.awaitReady(t)

	for _, a := range p.wantEffects(t, "committed", "replayed", "replayed")[:2] {
		if a.Bar < 0.1 || a.Bar > 1.01 {
			t.Errorf("the bar of %s is %.2f of its axis", a.Attempt, a.Bar)
		}
	}
}

func killServer(t *testing.T, p playground) {
	before := p.text(t, "#replicas")

	p.press(t, "kill")

	p.wantEffects(t, "rolled back", "committed")
	if !Eval[bool](t, p.Tab, `
		const lines = [...document.querySelectorAll('.timeline li')];
		const kill = lines.findIndex(line => line.textContent.startsWith('SIGKILL'));
		return kill >= 0 && kill < lines.findIndex(line => line.dataset.effect === 'rolled back');`) {
		t.Error("the time line shows what the kill did above the kill")
	}
	if after := p.text(t, "#replicas"); after == before {
		t.Errorf("the replicas are the same processes after the kill: %s", after)
	}
}

// Tab reaches everything, its focus is seen, and Enter pays.
func payByKeyboard(t *testing.T, p playground) {
	p.press(t, "new")
	p.Do(t, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	visited := map[string]bool{}
	for range 60 {
		p.Do(t, chromedp.KeyEvent(kb.Tab))
		focused := Eval[string](t, p.Tab, `
			const e = document.activeElement;
			const visible = getComputedStyle(e).outlineStyle !== 'none';
			return (e.dataset.scenario ?? e.id ?? e.tagName) + (visible ? '' : ' without a visible focus');`)
		visited[focused] = true
		if focused == "pay" && p.text(t, "#paid") == "not paid" {
			p.Do(t, chromedp.KeyEvent(kb.Enter))
			p.awaitReady(t)
			if still := Eval[string](t, p.Tab, `return document.activeElement.dataset.scenario`); still != "pay" {
				t.Errorf("the focus went to %s while the button worked", still)
			}
		}
	}
	for _, want := range []string{"pay", "lose", "change", "race", "kill", "expire", "refund", "webhook", "new", "timeline"} {
		if !visited[want] {
			t.Errorf("Tab does not reach %s: %v", want, visited)
		}
	}
}

func fitsSmallScreens(t *testing.T, p playground) {
	for _, width := range []int64{320, 375, 768, 1280} {
		p.WantNoWider(t, width, 667)
		p.WantAccessible(t, "on a small screen", "body")
		p.press(t, "pay")
		if out := Eval[[]string](t, p.Tab, `
			window.scrollTo(0, 0);
			const out = selector => document.querySelector(selector).getBoundingClientRect().bottom > innerHeight;
			return innerWidth === 375 ? ['.balance', '.story', '[data-scenario=pay]', '.verdict:last-child'].filter(out) : [];`); len(out) > 0 {
			t.Errorf("on a phone, one has to scroll to %s", out)
		}
	}
}

// The page asks nobody else, and is nobody else's.
func loadsOnlyItsOwnFiles(t *testing.T, p playground) {
	names := Eval[[]string](t, p.Tab, `return performance.getEntriesByType('resource').map(e => e.name)`)
	for _, name := range names {
		if !strings.HasPrefix(name, p.dev.URL+"/play/") {
			t.Errorf("the page loads %s", name)
		}
	}
	if len(names) < 3 {
		t.Errorf("the page loads %v", names)
	}
}
