package coretest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

func TestUseCases_AdmitOnlyWhoIsAllowed(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		for who, actor := range everyone {
			t.Run(u.name+" by "+who, func(t *testing.T) {
				t.Parallel()
				u.try(t, newFixture(), actor)
			})
		}
	}
}

// A store applies the grant where it locks, so that strangers wait for nothing. A use case
// does not depend on it: it refuses them with a store that locks for everybody.
func TestUseCases_CheckTheOwnerThemselves(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		for who, actor := range everyone {
			if u.admits(actor) {
				continue
			}
			t.Run(u.name+" by "+who, func(t *testing.T) {
				t.Parallel()
				f := newFixture()
				f.Store.Careless = true
				u.try(t, f, actor)
			})
		}
	}
}

// try runs the use case for an actor. Those who are allowed cause its effects, and the
// others are refused and cause none.
func (u useCase) try(t *testing.T, f *fixture, actor core.Actor) {
	t.Helper()
	o := u.prepare(t, f)
	var err error
	caused := f.effects(func() { err = run(u.do, actor)(t, f, o) })
	want, wanted := effects{}, core.CodeForbiddenResource
	if u.admits(actor) {
		want, wanted = u.effects(actor, o), ""
	}
	wantCode(t, u.name, err, wanted)
	if diff := cmp.Diff(want, caused); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

// effects returns what the use case causes: its events, and an audit entry when an
// administrator runs it.
func (u useCase) effects(actor core.Actor, o *order.Order) effects {
	caused := effects{Events: u.events}
	if actor.Has(core.Admin) {
		action, _, _ := strings.Cut(strings.ReplaceAll(u.name, ",", " "), " ")
		caused.Audited = []string{actor.Subject + " " + action + " " + u.resource(o)}
	}
	return caused
}

// An administrator who owns the resource needs no admin override to read it, so the read is
// not audited. Every other use by an administrator is, whatever other role admits it.
func TestAudit_SkipsOnlyReadsOfAnAdministratorsOwnResources(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		reads := strings.HasPrefix(u.name, "Get") || strings.HasPrefix(u.name, "List")
		for _, owner := range u.allowed {
			if owner.Has(core.Admin) {
				continue
			}
			t.Run(u.name+" by "+owner.Subject, func(t *testing.T) {
				t.Parallel()
				f := newFixture()
				o := u.prepare(t, f)
				caused := f.effects(func() { mustRun(t, f, u.do, withAdmin(owner), o) })
				want := 1
				if reads && !owner.Has(core.System) {
					want = 0
				}
				if len(caused.Audited) != want {
					t.Errorf("audit log: %q, want %d entries", caused.Audited, want)
				}
			})
		}
	}
}

// withAdmin returns the actor as an administrator, too.
func withAdmin(a core.Actor) core.Actor {
	return core.Actor{Subject: a.Subject, Roles: append(slices.Clone(a.Roles), core.Admin)}
}

func TestCreateOrder_AdmitsCustomersAndTheSellerOfTheProducts(t *testing.T) {
	t.Parallel()
	both := core.Actor{Subject: "other-shop", Roles: []core.Role{core.Customer, core.Seller}}
	for name, c := range map[string]struct {
		actor      core.Actor
		customerID string
		want       core.Code
	}{
		"a seller for a customer":                       {shop, "ann", ""},
		"a seller for nobody":                           {shop, "", core.CodeValidationFailed},
		"a seller of other products":                    {otherShop, "ann", core.CodeForbiddenResource},
		"a customer for nobody else":                    {ann, "", ""},
		"a customer for another":                        {ann, "bob", core.CodeForbiddenResource},
		"who buys and sells, for themselves":            {both, "", ""},
		"who buys and sells, another's products for us": {both, "ann", core.CodeForbiddenResource},
		"an administrator":                              {root, "ann", core.CodeForbiddenResource},
	} {
		f := newFixture()
		f.product(t, shop, "tea", "40.00", 10)
		cmd := order.CreateOrder{CustomerID: c.customerID, Items: items("tea"), Key: f.key()}
		_, _, err := f.Orders.CreateOrder(t.Context(), c.actor, cmd)
		wantCode(t, name, err, c.want)
	}
}

func TestListOrders_ShowsOnlyGrantedOrders(t *testing.T) {
	t.Parallel()
	f := newFixture()
	mine := placed(t, f)
	f.product(t, otherShop, "cup", "1.00", 10)
	bobs := f.create(t, bob, order.CreateOrder{Items: items("cup")})
	for name, c := range map[string]struct {
		actor   core.Actor
		filter  order.Filter
		want    []int64
		audited []string
	}{
		"a customer":               {ann, order.Filter{}, []int64{mine.ID}, nil},
		"a customer asks for more": {ann, order.Filter{CustomerID: "bob", Grant: core.Grant{Customer: "bob"}}, nil, nil},
		"a seller":                 {shop, order.Filter{}, []int64{mine.ID}, nil},
		"a seller of a customer":   {otherShop, order.Filter{CustomerID: "bob"}, []int64{bobs.ID}, nil},
		"an administrator":         {root, order.Filter{}, []int64{bobs.ID, mine.ID}, []string{"root ListOrders orders"}},
		"the system":               {billing, order.Filter{}, nil, nil},
		"nobody":                   {core.Actor{Subject: "ann"}, order.Filter{}, nil, nil},
	} {
		var got []int64
		caused := f.effects(func() {
			found, _, err := f.Orders.ListOrders(t.Context(), c.actor, c.filter, core.Page{Limit: 10})
			wantCode(t, name, err, "")
			for _, o := range found {
				got = append(got, o.ID)
			}
		})
		if !slices.Equal(got, c.want) || !slices.Equal(caused.Audited, c.audited) || caused.Events != nil {
			t.Errorf("%s sees %v, leaves %+v; want %v and %v", name, got, caused, c.want, c.audited)
		}
	}
}
