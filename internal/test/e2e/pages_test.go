package e2e_test

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
)

// pagedList is a list with cursor pages, and how to add a row to it.
type pagedList struct {
	path  string
	table string
	// add makes the row number i.
	add func(s *service, i int)
}

// idBody is what pages of all lists have in common; products are told apart by SKU.
type idBody struct {
	ID  int
	SKU string
}

var pagedLists = map[string]pagedList{
	"orders": {"/orders", "orders", func(s *service, _ int) { s.order(alice, "tea", 1) }},
	"products": {"/products", "product", func(s *service, i int) {
		s.putProduct(fmt.Sprintf("tea-%03d", i), 1)
	}},
	"balance transactions": {"/customers/alice/balance/transactions", "ledger_entry", func(s *service, _ int) { s.credit(alice, "1.00") }},
	"audit log": {"/admin/audit-log", "audit_log", func(s *service, _ int) {
		want[pageOf[orderBody]](s, http.StatusOK, get(s.asAdmin(), "/orders?limit=1"))
	}},
}

// reader is somebody who may read all lists and leaves no row in the audit log when
// they do.
func reader(s *service) string { return s.token(alice, "customer", "admin") }

// page reads one page; the owner of the list reads it, so that reading adds no row.
func (l pagedList) page(s *service, query string) (ids []string, next *string) {
	s.Helper()
	token := s.asCustomer()
	if l.table == "audit_log" {
		token = s.asAdmin()
	}
	page := want[pageOf[idBody]](s, http.StatusOK, get(token, l.path+query))
	for _, row := range page.Data {
		ids = append(ids, fmt.Sprintf("%d%s", row.ID, row.SKU))
	}
	return ids, page.NextCursor
}

// walk reads all pages, and calls between after each.
func (l pagedList) walk(s *service, limit int, between func(page int)) [][]string {
	s.Helper()
	var pages [][]string
	query := fmt.Sprintf("?limit=%d", limit)
	for n := 1; ; n++ {
		ids, next := l.page(s, query)
		pages = append(pages, ids)
		if next == nil {
			return pages
		}
		if len(ids) != limit || n > 100 {
			s.Fatalf("page %d has %d rows and a next page", n, len(ids))
		}
		query = fmt.Sprintf("?limit=%d&cursor=%s", limit, url.QueryEscape(*next))
		between(n)
	}
}

func TestPagesStayRightWhileRowsAreAdded(t *testing.T) {
	t.Parallel()
	for name, list := range pagedLists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, shelf{"tea": 1000})
			const rows, limit = 11, 3
			for i := range rows {
				list.add(s, i)
			}
			atStart, next := list.page(s, "?limit=100")
			if next != nil || len(atStart) < rows {
				t.Fatalf("%d rows on one page, and the next is %v", len(atStart), next)
			}
			if list.table == "product" && len(atStart) != rows+1 || list.table != "product" && len(atStart) != rows {
				t.Fatalf("%d rows at the start", len(atStart))
			}
			added := rows
			pages := list.walk(s, limit, func(int) {
				for range 2 {
					list.add(s, added)
					added++
				}
			})
			if added == rows {
				t.Fatal("nothing was added while the pages were read")
			}
			// Newest first, and nothing that came later is before the cursor: all pages
			// together are the list as it was, in its order.
			if diff := cmp.Diff(atStart, slices.Concat(pages...)); diff != "" {
				t.Errorf("pages (-at the start +read):\n%s", diff)
			}
			later, _ := list.page(s, "?limit=100")
			if diff := cmp.Diff(atStart, later[len(later)-len(atStart):]); diff != "" || len(later) != len(atStart)+added-rows {
				t.Errorf("the list afterwards has %d rows (-at the start +its end):\n%s", len(later), diff)
			}
		})
	}
}

// Rows of one moment are told apart by their ids.
func TestPagesKeepRowsOfOneMoment(t *testing.T) {
	t.Parallel()
	for name, list := range pagedLists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, shelf{"tea": 1000})
			const rows = 7
			for i := range rows {
				list.add(s, i)
			}
			column := "created_at"
			if list.table == "audit_log" {
				column = "at"
			}
			s.exec("UPDATE " + list.table + " SET " + column + " = '2026-01-02T03:04:05.000006Z'")
			all, _ := list.page(s, "?limit=100")
			for limit := 1; limit <= len(all); limit++ {
				if diff := cmp.Diff(all, slices.Concat(list.walk(s, limit, func(int) {})...)); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
				}
			}
		})
	}
}

func TestPageLimits(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 1000})
	const rows = 101
	for name, list := range pagedLists {
		for i := range rows {
			list.add(s, i)
		}
		for query, wanted := range map[string]int{"": 20, "?limit=1": 1, "?limit=20": 20, "?limit=100": 100} {
			if ids, next := list.page(s, query); len(ids) != wanted || next == nil {
				t.Errorf("%s%s: %d rows and next %v, want %d and more", name, query, len(ids), next, wanted)
			}
		}
		for _, limit := range []string{"0", "101", "-1", "", "abc", "1.5", "1e1", "9999999999999999999"} {
			s.wantProblem(http.StatusUnprocessableEntity, "validation_failed", get(reader(s), list.path+"?limit="+limit))
		}
	}
}

// A cursor is a place in time. That of another list, or one that nobody gave out, shows
// nothing but rows of the list that is asked, to those who may see them.
func TestForeignCursorsAreHarmless(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 1000})
	cursors := map[string]string{}
	for name, list := range pagedLists {
		for i := range 4 {
			list.add(s, i)
		}
		_, next := list.page(s, "?limit=2")
		cursors["of "+name] = *next
	}
	s.order(mallory, "tea", 1) // for nobody else to see
	for name, at := range map[string][2]int64{
		"of the beginning of time": {0, 0}, "of the end": {math.MaxInt64, math.MaxInt64},
		"of before everything": {math.MinInt64, math.MinInt64}, "of no time": {-62135596800000000, 0},
	} {
		raw := binary.BigEndian.AppendUint64(nil, uint64(at[0]))
		cursors[name] = base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(raw, uint64(at[1])))
	}
	for name, list := range pagedLists {
		all, _ := list.page(s, "?limit=100")
		for from, cursor := range cursors {
			r := s.send(get(reader(s), list.path+"?limit=100&cursor="+url.QueryEscape(cursor)))
			if r.verdict() == "422 validation_failed" {
				continue
			}
			if r.status != http.StatusOK {
				t.Errorf("%s with a cursor %s: %d %s", name, from, r.status, r.body)
				continue
			}
			if list.table == "audit_log" {
				continue // reading orders as an administrator has added rows
			}
			ids, _ := list.page(s, "?limit=100&cursor="+url.QueryEscape(cursor))
			for _, id := range ids {
				if !slices.Contains(all, id) {
					t.Errorf("%s with a cursor %s shows %s, which is not on the list", name, from, id)
				}
			}
		}
		for _, cursor := range []string{"", "x", "!!!", "AAAA", cursors["of orders"] + "A", cursors["of orders"] + "=", "%00"} {
			s.wantProblem(http.StatusUnprocessableEntity, "validation_failed", get(reader(s), list.path+"?cursor="+cursor))
		}
	}
}
