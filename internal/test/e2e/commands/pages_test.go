package commands_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

// pagedList is a list with cursor pages, and how to add a row to it.
type pagedList struct {
	path  string
	table string
	// add adds row number i.
	add func(t testing.TB, s *e2e.Service, i int)
}

// row is what the rows of all lists have in common. The SKU identifies a product.
type row struct {
	ID  int
	SKU string
}

var pagedLists = map[string]pagedList{
	"orders": {"/orders", "orders", func(t testing.TB, s *e2e.Service, _ int) {
		t.Helper()
		s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	}},
	"products": {"/products", "product", func(t testing.TB, s *e2e.Service, i int) {
		t.Helper()
		s.PutProduct(t, fmt.Sprintf("tea-%03d", i), 1)
	}},
	"balance transactions": {"/customers/alice/balance/transactions", "ledger_entry", func(t testing.TB, s *e2e.Service, _ int) {
		t.Helper()
		s.Credit(t, e2e.Alice, "1.00")
	}},
	"audit log": {"/admin/audit-log", "audit_log", func(t testing.TB, s *e2e.Service, _ int) {
		t.Helper()
		e2e.Want[e2e.Page[e2e.Order]](t, s, http.StatusOK, e2e.Get(s.AdminToken(t), "/orders?limit=1"))
	}},
}

// readerToken returns a token that may read all lists.
func readerToken(t testing.TB, s *e2e.Service) string {
	t.Helper()
	return s.Token(t, e2e.Alice, "customer", "admin")
}

// page reads one page as the owner of the list, because that adds no audit entry. Nobody
// owns the audit log, so the entry about the read is deleted.
func (l pagedList) page(t testing.TB, s *e2e.Service, query string) (ids []string, next *string) {
	t.Helper()
	token := s.CustomerToken(t)
	if l.table == "audit_log" {
		token = s.AdminToken(t)
	}
	page := e2e.Want[e2e.Page[row]](t, s, http.StatusOK, e2e.Get(token, l.path+query))
	s.Exec(t, "DELETE FROM audit_log WHERE action = 'ListAuditLog'")
	for _, row := range page.Data {
		ids = append(ids, fmt.Sprintf("%d%s", row.ID, row.SKU))
	}
	return ids, page.NextCursor
}

// walk reads all pages, and calls between after each but the last.
func (l pagedList) walk(t testing.TB, s *e2e.Service, limit int, between func(page int)) [][]string {
	t.Helper()
	var pages [][]string
	query := fmt.Sprintf("?limit=%d", limit)
	for n := 1; ; n++ {
		ids, next := l.page(t, s, query)
		pages = append(pages, ids)
		if next == nil {
			return pages
		}
		if len(ids) != limit || n > 100 {
			t.Fatalf("page %d has %d rows and a next page", n, len(ids))
		}
		query = fmt.Sprintf("?limit=%d&cursor=%s", limit, url.QueryEscape(*next))
		between(n)
	}
}

func TestPages_AreConsistentWhileRowsAreAdded(t *testing.T) {
	t.Parallel()
	for name, list := range pagedLists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2e.StartShop(t, e2e.Stock{"tea": 1000})
			const rows, limit = 11, 3
			for i := range rows {
				list.add(t, s, i)
			}
			atStart, next := list.page(t, s, "?limit=100")
			if next != nil || len(atStart) < rows {
				t.Fatalf("%d rows on one page, and the next is %v", len(atStart), next)
			}
			if list.table == "product" && len(atStart) != rows+1 || list.table != "product" && len(atStart) != rows {
				t.Fatalf("%d rows at the start", len(atStart))
			}
			added := rows
			pages := list.walk(t, s, limit, func(int) {
				for range 2 {
					list.add(t, s, added)
					added++
				}
			})
			if added == rows {
				t.Fatal("nothing was added while the pages were read")
			}
			// Newer rows come before the first page: all pages together are the list as
			// it was.
			if diff := cmp.Diff(atStart, slices.Concat(pages...)); diff != "" {
				t.Errorf("pages (-at the start +read):\n%s", diff)
			}
			later, _ := list.page(t, s, "?limit=100")
			if diff := cmp.Diff(atStart, later[len(later)-len(atStart):]); diff != "" || len(later) != len(atStart)+added-rows {
				t.Errorf("the list afterwards has %d rows (-at the start +its end):\n%s", len(later), diff)
			}
		})
	}
}

// Rows with the same time are ordered by their ids.
func TestPages_ContainRowsWithSameTime(t *testing.T) {
	t.Parallel()
	for name, list := range pagedLists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2e.StartShop(t, e2e.Stock{"tea": 1000})
			const rows = 7
			for i := range rows {
				list.add(t, s, i)
			}
			column := "created_at"
			if list.table == "audit_log" {
				column = "at"
			}
			s.Exec(t, "UPDATE "+list.table+" SET "+column+" = '2026-01-02T03:04:05.000006Z'")
			all, _ := list.page(t, s, "?limit=100")
			for limit := 1; limit <= len(all); limit++ {
				if diff := cmp.Diff(all, slices.Concat(list.walk(t, s, limit, func(int) {})...)); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
				}
			}
		})
	}
}

func TestPages_RespectLimit(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1000}, "ORDERS_UNPAID_ORDERS=0")
	const rows = 101
	for name, list := range pagedLists {
		for i := range rows {
			list.add(t, s, i)
		}
		for query, wanted := range map[string]int{"": 20, "?limit=1": 1, "?limit=20": 20, "?limit=100": 100} {
			if ids, next := list.page(t, s, query); len(ids) != wanted || next == nil {
				t.Errorf("%s%s: %d rows and next %v, want %d and more", name, query, len(ids), next, wanted)
			}
		}
		for _, limit := range []string{"0", "101", "-1", "", "abc", "1.5", "1e1", "9999999999999999999"} {
			s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", e2e.Get(readerToken(t, s), list.path+"?limit="+limit))
		}
	}
}

// A cursor is a position in time. One of another list, or one that the service never
// returned, shows nothing but rows of the list, to those who may see them.
func TestPages_ForeignCursorIsHarmless(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1000})
	cursors := map[string]string{}
	for name, list := range pagedLists {
		for i := range 4 {
			list.add(t, s, i)
		}
		_, next := list.page(t, s, "?limit=2")
		cursors["of "+name] = *next
	}
	s.MustCreateOrder(t, e2e.Mallory, "tea", 1) // not for Alice to see
	for name, at := range map[string][2]int64{
		"of 1970": {0, 0}, "of the end of time": {math.MaxInt64, math.MaxInt64},
		"of the beginning of time": {math.MinInt64, math.MinInt64}, "of the year 1": {-62135596800000000, 0},
	} {
		raw := binary.BigEndian.AppendUint64(nil, uint64(at[0]))
		cursors[name] = base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(raw, uint64(at[1])))
	}
	for name, list := range pagedLists {
		all, _ := list.page(t, s, "?limit=100")
		for from, cursor := range cursors {
			r := s.Send(t, e2e.Get(readerToken(t, s), list.path+"?limit=100&cursor="+url.QueryEscape(cursor)))
			if r.Verdict() == "422 validation_failed" {
				continue
			}
			if r.Status != http.StatusOK {
				t.Errorf("%s with a cursor %s: %d %s", name, from, r.Status, r.Body)
				continue
			}
			if list.table == "audit_log" {
				continue // reading orders as an administrator has added rows
			}
			ids, _ := list.page(t, s, "?limit=100&cursor="+url.QueryEscape(cursor))
			for _, id := range ids {
				if !slices.Contains(all, id) {
					t.Errorf("%s with a cursor %s shows %s, which is not on the list", name, from, id)
				}
			}
		}
		for _, cursor := range []string{"", "x", "!!!", "AAAA", cursors["of orders"] + "A", cursors["of orders"] + "=", "%00"} {
			s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", e2e.Get(readerToken(t, s), list.path+"?cursor="+cursor))
		}
	}
}
