package order

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/orders/internal/core"
)

func TestPutProduct_ReplacesAllButOwnerAndReserved(t *testing.T) {
	t.Parallel()
	price, err := core.ParseMoney("5.00", "RUB")
	if err != nil {
		t.Fatal(err)
	}
	was := Product{ID: 1, SKU: "tea", SellerID: "shop", Name: "Tea", OnHand: 10, Reserved: 4, Version: 3, CreatedAt: now, UpdatedAt: now}
	later := now.Add(time.Hour)
	for onHand, want := range map[int64]core.Code{0: core.CodeStockReserved, 3: core.CodeStockReserved, 4: "", 5: "", 1 << 40: ""} {
		p := was
		err := p.replace(PutProduct{SKU: "other", Name: "Green tea", Price: price, OnHand: &onHand, Versions: []int64{3}}, later)
		changed := was
		if want == "" {
			changed.Name, changed.Price, changed.OnHand, changed.Version, changed.UpdatedAt = "Green tea", price, onHand, 4, later
		}
		if codeOf(err) != want || (err == nil) != (want == "") || !cmp.Equal(p, changed) {
			t.Errorf("%d on hand: %v, %+v", onHand, err, p)
		}
	}
}

// stockMachine draws reservations, sales and adjustments at random, and remembers them.
type stockMachine struct {
	onHand              int64            // before anything was sold
	adjusted            map[string]int64 // by SKU
	stock               Stock
	reservations, sales [][]Line
}

// Whatever is reserved, released, sold and adjusted: the reserved quantity is the sum of
// the reservations, and on hand is what was there or added, and has not been sold.
func TestStock_CountsReservationsAndSales(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 20).Draw(t, "on hand")
		m := &stockMachine{onHand: n, adjusted: map[string]int64{}, stock: Stock{"tea": {SKU: "tea", OnHand: n}, "cup": {SKU: "cup", OnHand: n}}}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": m.reserve, "release": m.release, "sell": m.sell, "restock": m.restock, "adjust": m.adjust, "": m.check,
		})
	})
}

func (m *stockMachine) reserve(t *rapid.T) {
	lines := []Line{
		{SKU: "tea", Quantity: rapid.IntRange(1, 5).Draw(t, "tea")},
		{SKU: "cup", Quantity: rapid.IntRange(1, 5).Draw(t, "cups")},
	}
	enough := m.stock["tea"].Available() >= int64(lines[0].Quantity) && m.stock["cup"].Available() >= int64(lines[1].Quantity)
	if err := m.stock.reserve(lines); (err == nil) != enough {
		t.Fatalf("reserve %v: %v", lines, err)
	}
	if enough {
		m.reservations = append(m.reservations, lines)
	}
}

func (m *stockMachine) release(t *rapid.T) {
	if err := m.stock.release(take(t, &m.reservations)); err != nil {
		t.Fatal(err)
	}
}

func (m *stockMachine) sell(t *rapid.T) {
	lines := take(t, &m.reservations)
	if err := m.stock.sell(lines); err != nil {
		t.Fatal(err)
	}
	m.sales = append(m.sales, lines)
}

func (m *stockMachine) restock(t *rapid.T) { m.stock.restock(take(t, &m.sales)) }

func (m *stockMachine) adjust(t *rapid.T) {
	change := rapid.Int64Range(-10, 10).Draw(t, "change")
	for _, sku := range []string{"tea", "cup"} {
		p := m.stock[sku]
		possible := p.Available()+change >= 0
		if err := p.adjust(change, "/change"); (err == nil) != possible {
			t.Fatalf("adjust %s by %d: %v", sku, change, err)
		}
		if possible {
			m.adjusted[sku] += change
		}
	}
}

func (m *stockMachine) check(t *rapid.T) {
	for i, sku := range []string{"tea", "cup"} {
		p, reserved, sold := m.stock[sku], total(m.reservations, i), total(m.sales, i)
		if p.Reserved != reserved || p.OnHand != m.onHand+m.adjusted[sku]-sold || p.Available() < 0 {
			t.Fatalf("%s: %d on hand, %d reserved; want %d reserved, %d of %d sold, %d added",
				sku, p.OnHand, p.Reserved, reserved, sold, m.onHand, m.adjusted[sku])
		}
	}
}

// take removes one of the lists and returns it, or skips the step when there is none.
func take(t *rapid.T, from *[][]Line) []Line {
	if len(*from) == 0 {
		t.Skip()
	}
	i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
	lines := (*from)[i]
	*from = append((*from)[:i:i], (*from)[i+1:]...)
	return lines
}

func total(lines [][]Line, i int) int64 {
	var n int64
	for _, l := range lines {
		n += int64(l[i].Quantity)
	}
	return n
}

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
