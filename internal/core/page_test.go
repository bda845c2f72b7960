package core_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/core"
)

func TestPaginate(t *testing.T) {
	t.Parallel()
	at := func(n int) core.Position { return core.Position{CreatedAt: time.Unix(int64(n), 0), ID: int64(n)} }
	for name, c := range map[string]struct {
		rows []int
		want []int
		next *core.Position
	}{
		"nothing":               {nil, nil, nil},
		"less than a page":      {[]int{9, 8}, []int{9, 8}, nil},
		"exactly a page":        {[]int{9, 8, 7}, []int{9, 8, 7}, nil},
		"more than a page":      {[]int{9, 8, 7, 6}, []int{9, 8, 7}, new(at(7))},
		"much more than a page": {[]int{9, 8, 7, 6, 5}, []int{9, 8, 7}, new(at(7))},
	} {
		got, next := core.Paginate(c.rows, 3, at)
		if !slices.Equal(got, c.want) || (next == nil) != (c.next == nil) || (next != nil && *next != *c.next) {
			t.Errorf("%s: got %v, next %v; want %v, %v", name, got, next, c.want, c.next)
		}
	}
}

// A page begins where the period ends, unless its cursor is further on in the list.
func TestPeriod_BeginsAPage(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	cursor := core.Position{CreatedAt: at(5), ID: 7}
	for name, c := range map[string]struct {
		period core.Period
		after  core.Position
		want   core.Position
	}{
		"neither":                     {core.Period{From: at(1)}, core.Position{}, core.Position{}},
		"a cursor":                    {core.Period{From: at(1)}, cursor, cursor},
		"an end":                      {core.Period{To: at(9)}, core.Position{}, core.Position{CreatedAt: at(9)}},
		"an end before the cursor":    {core.Period{To: at(4)}, cursor, core.Position{CreatedAt: at(4)}},
		"an end in the cursor's time": {core.Period{To: at(5)}, cursor, core.Position{CreatedAt: at(5)}},
		"an end after the cursor":     {core.Period{To: at(6)}, cursor, cursor},
	} {
		got := c.period.Start(core.Page{After: c.after, Limit: 3})
		if got != (core.Page{After: c.want, Limit: 3}) {
			t.Errorf("%s: got %+v, want the position %+v", name, got, c.want)
		}
	}
}

func TestPeriod_IncludesItsBeginningAndNotItsEnd(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	for _, c := range []struct {
		period core.Period
		want   []int
	}{
		{core.Period{}, []int{1, 2, 3, 4}},
		{core.Period{From: at(2)}, []int{2, 3, 4}},
		{core.Period{To: at(3)}, []int{1, 2}},
		{core.Period{From: at(2), To: at(4)}, []int{2, 3}},
		{core.Period{From: at(2), To: at(2)}, nil},
	} {
		var got []int
		for second := 1; second <= 4; second++ {
			if c.period.Includes(at(second)) {
				got = append(got, second)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.period, got, c.want)
		}
	}
}

func TestAfter_ReturnsTheLaterTime(t *testing.T) {
	t.Parallel()
	last := time.Unix(100, 0)
	for now, want := range map[time.Time]time.Time{
		last.Add(time.Hour):       last.Add(time.Hour),
		last.Add(time.Nanosecond): last.Add(time.Microsecond), // stores do not tell them apart
		last:                      last.Add(time.Microsecond),
		last.Add(-time.Hour):      last.Add(time.Microsecond),
	} {
		if got := core.After(last, now); !got.Equal(want) {
			t.Errorf("After(%v, %v) = %v, want %v", last, now, got, want)
		}
	}
}

// Every combination of the actor's roles, the admitted roles and the owners.
func TestGrant_AuthorisesOwnersThenAdministratorsThenSystem(t *testing.T) {
	t.Parallel()
	all := []core.Role{core.Customer, core.Seller, core.Admin, core.System}
	owners := []core.Owners{{}, {Customer: "ann"}, {Seller: "ann"}, {Customer: "ann", Seller: "bob"}, {Customer: "bob", Seller: "ann"}}
	for _, roles := range subsets(all) {
		for _, admitted := range subsets(all) {
			for _, o := range owners {
				actor := core.Actor{Subject: "ann", Roles: roles}
				grant := actor.Grant(admitted...)
				access, err := grant.Authorise(o)
				want := authorised(actor, admitted, o)
				if got := answer(access, err); got != want {
					t.Errorf("%v for %v, admitted %v: %s; want %s", roles, o, admitted, got, want)
				}
				if covers := grant.Covers(o); covers != (err == nil) {
					t.Errorf("%v for %v, admitted %v: covers = %v, Authorise: %v", roles, o, admitted, covers, err)
				}
			}
		}
	}
}

func answer(access core.Access, err error) string {
	fault, ok := errors.AsType[*core.Fault](err)
	switch {
	case ok:
		return string(fault.Code)
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(access)
}

// authorised states the rule independently: ownership comes first; where a role admits
// actors to everything, administrators are distinguished from the system; everybody else is
// refused.
func authorised(a core.Actor, admitted []core.Role, o core.Owners) string {
	has := func(r core.Role) bool { return slices.Contains(admitted, r) && a.Has(r) }
	customer := has(core.Customer) && o.Customer == a.Subject
	seller := has(core.Seller) && o.Seller == a.Subject
	switch {
	case customer, seller:
		return fmt.Sprint(core.AsOwner)
	case a.Has(core.Admin) && (has(core.Admin) || has(core.System)):
		return fmt.Sprint(core.ByAdminOverride)
	case has(core.System):
		return fmt.Sprint(core.AsOwner)
	}
	return string(core.CodeForbiddenResource)
}

func TestGrant_CoversNothingWithoutASubject(t *testing.T) {
	t.Parallel()
	nobody := core.Actor{Roles: []core.Role{core.Customer, core.Seller}}
	grant := nobody.Grant(core.Customer, core.Seller)
	for _, o := range []core.Owners{{}, {Customer: "ann"}, {Seller: "ann"}} {
		if grant.Covers(o) {
			t.Errorf("covers a resource of %+v", o)
		}
	}
}

func subsets(roles []core.Role) [][]core.Role {
	var all [][]core.Role
	for bits := range 1 << len(roles) {
		var some []core.Role
		for i, r := range roles {
			if bits&(1<<i) != 0 {
				some = append(some, r)
			}
		}
		all = append(all, some)
	}
	return all
}
