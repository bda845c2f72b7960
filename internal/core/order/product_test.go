package order

import (
	"testing"
)

func TestStock_NeitherReleasesNorSellsWhatIsNotReserved(t *testing.T) {
	t.Parallel()
	lines := []Line{{SKU: "tea", Quantity: 3}}
	for name, act := range map[string]func(Stock) error{
		"release": func(s Stock) error { return s.release(lines) },
		"sell":    func(s Stock) error { return s.sell(lines) },
	} {
		stock := Stock{"tea": {SKU: "tea", OnHand: 10, Reserved: 2}}
		if err := act(stock); err == nil || codeOf(err) != "" || stock["tea"].OnHand != 10 || stock["tea"].Reserved != 2 {
			t.Errorf("%s: %v, %+v; want an error that is no refusal, and nothing changed", name, err, stock["tea"])
		}
	}
}
