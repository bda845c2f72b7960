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
type shownAttempt struct{ Attempt, Effect, Answer, Told, Sent, Received string }

// attempts returns the attempts that the time line shows for the current order.
func (p playground) attempts(t *testing.T) []shownAttempt {
	t.Helper()
	return Eval[[]shownAttempt](t, p.Tab, `
		const order = document.querySelector('#order').textContent;
		return [...document.querySelectorAll('[data-attempt^="' + order + '/"]')].map(item => ({
			Attempt: item.dataset.attempt, Effect: item.dataset.effect,
			Answer: item.querySelector('.answer .label').textContent,
			Told: item.querySelector('.told').textContent, Sent: item.querySelector('.sent').textContent, Received: item.querySelector('.received').textContent,
		}));`)
}

// wantEffects fails the test unless the attempts of the current order had these effects, in
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
			t.Errorf("%+d attempts with the effect %s, of %+v; want %q", difference, effect, shown, want)
		}
	}
	return shown
}

// wantPaidOnce compares what the page claims with the database.
func (p playground) wantPaidOnce(t *testing.T) {
	t.Helper()
	order := p.text(t, "#order")
	stored := Query[struct {
		Payments, Entries int
		Balance           string
	}](t, p.dev, "playground", `
		SELECT (SELECT count(*) FROM payment WHERE order_id = $1::text::bigint),
		       (SELECT count(*) FROM ledger_entry e JOIN payment p ON p.id = e.payment_id WHERE p.order_id = $1::text::bigint),
		       (SELECT amount::numeric(19,2)::text FROM balance)`, order)
	if stored.Payments != 1 || stored.Entries != 1 {
		t.Errorf("order %s has %d payments and %d ledger entries", order, stored.Payments, stored.Entries)
	}
	if shown := p.text(t, "#balance"); shown != stored.Balance {
		t.Errorf("the page shows the balance %s, the database has %s", shown, stored.Balance)
	}
	if moved := p.text(t, "#moved"); !strings.HasPrefix(moved, "Moved once for order "+order+":") {
		t.Errorf("the page says %q", moved)
	}
	verdict := p.text(t, ".timeline li:last-child")
	if !strings.HasPrefix(verdict, "Order "+order+" is paid once.") || !strings.HasSuffix(verdict, " to "+stored.Balance+".") {
		t.Errorf("the last line is %q, the balance %s", verdict, stored.Balance)
	}
	if row := p.text(t, "#ledger tr"); !strings.HasPrefix(row, "payment, order "+order) || !strings.HasSuffix(row, stored.Balance) {
		t.Errorf("the first row of the ledger is %q", row)
	}
}

// wantAccessible runs axe in both colour schemes.
func (p playground) wantAccessible(t *testing.T, when string) {
	t.Helper()
	for _, scheme := range []string{"dark", "light"} {
		p.Do(t, prefer(scheme))
		p.WantAccessible(t, when+", "+scheme, "body")
	}
}

// One playground, whose buttons are pressed one after the other.
func TestPlay(t *testing.T) {
	t.Parallel()
	p := openPlayground(t)
	p.wantAccessible(t, "before the first press")
	for _, c := range []struct {
		name string
		test func(*testing.T, playground)
	}{
		{"pay twice", payTwice},
		{"pay twice at once", payTwiceAtOnce},
		{"lose the response", loseResponse},
		{"change the body", changeBody},
		{"race two replicas", raceReplicas},
		{"kill the server", killServer},
		{"wait past expiry", waitPastExpiry},
		{"pay by keyboard", payByKeyboard},
	} {
		if !t.Run(c.name, func(t *testing.T) {
			c.test(t, p)
			p.wantPaidOnce(t)
			p.wantAccessible(t, "after "+c.name)
		}) {
			return // the next one begins where this one ended
		}
	}
	t.Run("fits small screens", func(t *testing.T) { fitsSmallScreens(t, p) })
	t.Run("loads only its own files", func(t *testing.T) { loadsOnlyItsOwnFiles(t, p) })
}

func payTwice(t *testing.T, p playground) {
	p.press(t, "pay")
	p.press(t, "pay")

	shown := p.wantEffects(t, "committed", "replayed")
	if len(shown) == 2 && !strings.Contains(shown[1].Received, "Idempotency-Result: reused\nIdempotent-Replayed: true") {
		t.Errorf("the second press received %s", shown[1].Received)
	}
}

// Both presses send the payment, although the first one has no answer yet.
func payTwiceAtOnce(t *testing.T, p playground) {
	p.press(t, "order")

	p.Do(t, chromedp.Evaluate[chromedp.Void](`
		const pay = document.querySelector('[data-scenario=pay]');
		pay.click();
		pay.click();`))
	p.awaitReady(t)

	shown := p.wantEffects(t, "committed", "replayed")
	if len(shown) == 2 && shown[0].Sent != shown[1].Sent {
		t.Errorf("the presses sent\n%s\nand\n%s", shown[0].Sent, shown[1].Sent)
	}
}

func loseResponse(t *testing.T, p playground) {
	p.press(t, "lose")

	shown := p.wantEffects(t, "committed", "replayed")
	if len(shown) == 2 && (shown[0].Answer != "200 created lost" || shown[1].Answer != "200 reused") {
		t.Errorf("the answers are %q and %q", shown[0].Answer, shown[1].Answer)
	}
}

// The order of the lost response is paid: the other body has the key of its payment.
func changeBody(t *testing.T, p playground) {
	p.press(t, "change")

	shown := p.wantEffects(t, "committed", "replayed", "refused")
	if last := shown[len(shown)-1]; !strings.Contains(last.Told, "409 idempotency_key_reused") || strings.Contains(last.Received, "captured") {
		t.Errorf("the page says %s, and received %s", last.Told, last.Received)
	}
}

func raceReplicas(t *testing.T, p playground) {
	p.press(t, "race")

	p.wantEffects(t, "committed", "replayed")
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

func waitPastExpiry(t *testing.T, p playground) {
	p.press(t, "expire")

	shown := p.wantEffects(t, "committed", "recognised")
	if len(shown) == 2 && strings.Contains(shown[1].Received, "Idempotent-Replayed") {
		t.Errorf("the retry received the stored response: %s", shown[1].Received)
	}
}

// Tab reaches everything, its focus is seen, and Enter pays.
func payByKeyboard(t *testing.T, p playground) {
	p.press(t, "order")
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
	for _, want := range []string{"pay", "lose", "change", "race", "kill", "expire", "order", "timeline"} {
		if !visited[want] {
			t.Errorf("Tab does not reach %s: %v", want, visited)
		}
	}
}

func fitsSmallScreens(t *testing.T, p playground) {
	for _, width := range []int64{320, 768, 1280} {
		p.Do(t, chromedp.EmulateViewport(width, 800))
		if wide := Eval[int64](t, p.Tab, `return document.documentElement.scrollWidth`); wide > width {
			t.Errorf("the page is %d wide on %d", wide, width)
		}
		p.WantAccessible(t, "on a small screen", "body")
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
