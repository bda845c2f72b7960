package order

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/orders/internal/core"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	price, err := core.ParseMoney("5.00", "RUB")
	if err != nil {
		t.Fatal(err)
	}
	was := Product{ID: 1, SKU: "tea", SellerID: "shop", Name: "Tea", OnHand: 10, Reserved: 4, CreatedAt: now, UpdatedAt: now}
	later := now.Add(time.Hour)
	for onHand, want := range map[int64]core.Code{0: core.CodeStockReserved, 3: core.CodeStockReserved, 4: "", 5: "", 1 << 40: ""} {
		p := was
		err := p.replace(PutProduct{SKU: "other", Name: "Green tea", Price: price, OnHand: onHand}, later)
		changed := was
		if want == "" {
			changed.Name, changed.Price, changed.OnHand, changed.UpdatedAt = "Green tea", price, onHand, later
		}
		if codeOf(err) != want || (err == nil) != (want == "") || !cmp.Equal(p, changed) {
			t.Errorf("%d on hand: %v, %+v", onHand, err, p)
		}
	}
}

// Whatever holds are taken, freed and sold: what is reserved is the sum of the holds,
// what is on hand is what there was without what was sold.
func TestStockCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		begin := rapid.Int64Range(0, 20).Draw(t, "on hand")
		stock := Stock{"tea": {SKU: "tea", OnHand: begin}, "cup": {SKU: "cup", OnHand: begin}}
		var holds, sales [][]Line
		take := func(from *[][]Line) []Line {
			i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
			lines := (*from)[i]
			*from = append((*from)[:i:i], (*from)[i+1:]...)
			return lines
		}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				lines := []Line{
					{SKU: "tea", Quantity: rapid.IntRange(1, 5).Draw(t, "tea")},
					{SKU: "cup", Quantity: rapid.IntRange(1, 5).Draw(t, "cups")},
				}
				room := stock["tea"].Available() >= int64(lines[0].Quantity) && stock["cup"].Available() >= int64(lines[1].Quantity)
				if err := stock.reserve(lines); (err == nil) != room {
					t.Fatalf("reserve %v: %v", lines, err)
				}
				if room {
					holds = append(holds, lines)
				}
			},
			"release": func(t *rapid.T) {
				if len(holds) == 0 {
					t.Skip()
				}
				if err := stock.release(take(&holds)); err != nil {
					t.Fatal(err)
				}
			},
			"sell": func(t *rapid.T) {
				if len(holds) == 0 {
					t.Skip()
				}
				lines := take(&holds)
				if err := stock.sell(lines); err != nil {
					t.Fatal(err)
				}
				sales = append(sales, lines)
			},
			"restock": func(t *rapid.T) {
				if len(sales) == 0 {
					t.Skip()
				}
				stock.restock(take(&sales))
			},
			"": func(t *rapid.T) {
				for i, sku := range []string{"tea", "cup"} {
					p, wantReserved, wantSold := stock[sku], total(holds, i), total(sales, i)
					if p.Reserved != wantReserved || p.OnHand != begin-wantSold || p.Available() < 0 {
						t.Fatalf("%s: %d on hand, %d reserved; %d are held and %d of %d sold", sku, p.OnHand, p.Reserved, wantReserved, wantSold, begin)
					}
				}
			},
		})
	})
}

func total(lines [][]Line, i int) int64 {
	var n int64
	for _, l := range lines {
		n += int64(l[i].Quantity)
	}
	return n
}

func TestWhatIsNotReservedIsNeitherFreedNorSold(t *testing.T) {
	t.Parallel()
	lines := []Line{{SKU: "tea", Quantity: 3}}
	for name, act := range map[string]func(Stock) error{
		"release": func(s Stock) error { return s.release(lines) },
		"sell":    func(s Stock) error { return s.sell(lines) },
	} {
		stock := Stock{"tea": {SKU: "tea", OnHand: 10, Reserved: 2}}
		if err := act(stock); err == nil || codeOf(err) != "" || stock["tea"].OnHand != 10 || stock["tea"].Reserved != 2 {
			t.Errorf("%s: %v, %+v; want a failure of ours, and nothing changed", name, err, stock["tea"])
		}
	}
}
