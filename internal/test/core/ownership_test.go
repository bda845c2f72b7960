package coretest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	coretest "example.com/orders/internal/test/core"
)

func TestUseCases_AdmitOnlyWhoIsAllowed(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		for who, actor := range everyone {
			t.Run(u.name+" by "+who, func(t *testing.T) {
				t.Parallel()
				f := coretest.New(t)
				o := u.prepare(t, f)
				var err error
				caused := f.Effects(t, func() { _, err = u.do(t.Context(), f, actor, o, f.Key()) })
				var want coretest.Effects
				if !u.admits(actor) {
					if code := coretest.CodeOf(err); code != core.CodeForbiddenResource {
						t.Errorf("got %v; want %s", err, core.CodeForbiddenResource)
					}
				} else {
					if err != nil {
						t.Errorf("got %v; want it done", err)
					}
					want = u.effects(actor, o)
				}
				if diff := cmp.Diff(want, caused); diff != "" {
					t.Errorf("effects (-want +got):\n%s", diff)
				}
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
				f := coretest.New(t)
				o := u.prepare(t, f)
				f.Store.Careless = true
				var err error
				caused := f.Effects(t, func() { _, err = u.do(t.Context(), f, actor, o, f.Key()) })
				if code := coretest.CodeOf(err); code != core.CodeForbiddenResource {
					t.Errorf("got %v; want %s", err, core.CodeForbiddenResource)
				}
				if diff := cmp.Diff(coretest.Effects{}, caused); diff != "" {
					t.Errorf("effects (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func (u useCase) admits(actor core.Actor) bool {
	return slices.ContainsFunc(u.allowed, func(a core.Actor) bool {
		return a.Subject == actor.Subject && slices.Equal(a.Roles, actor.Roles)
	})
}

// effects returns what the use case causes: its events, and an audit entry when an
// administrator runs it.
func (u useCase) effects(actor core.Actor, o *order.Order) coretest.Effects {
	caused := coretest.Effects{Events: u.events}
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
			both := core.Actor{Subject: owner.Subject, Roles: append(slices.Clone(owner.Roles), core.Admin)}
			if owner.Has(core.Admin) {
				continue
			}
			t.Run(u.name+" by "+owner.Subject, func(t *testing.T) {
				t.Parallel()
				f := coretest.New(t)
				o := u.prepare(t, f)
				caused := f.Effects(t, func() {
					if _, err := u.do(t.Context(), f, both, o, f.Key()); err != nil {
						t.Error(err)
					}
				})
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
		"a seller of other products":                    {coretest.OtherShop, "ann", core.CodeForbiddenResource},
		"a customer for nobody else":                    {ann, "", ""},
		"a customer for another":                        {ann, "bob", core.CodeForbiddenResource},
		"who buys and sells, for themselves":            {both, "", ""},
		"who buys and sells, another's products for us": {both, "ann", core.CodeForbiddenResource},
		"an administrator":                              {root, "ann", core.CodeForbiddenResource},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			f.Product(t, shop, "tea", "40.00", 10)
			cmd := order.CreateOrder{CustomerID: c.customerID, Items: []order.Item{{SKU: "tea", Quantity: 1}}, Key: f.Key()}
			_, _, err := f.Orders.CreateOrder(t.Context(), c.actor, cmd)
			if code := coretest.CodeOf(err); code != c.want || (c.want == "") != (err == nil) {
				t.Errorf("got %v; want %q", err, c.want)
			}
		})
	}
}

func TestListOrders_ShowsOnlyGrantedOrders(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	mine := f.Placed(t)
	f.Product(t, coretest.OtherShop, "cup", "1.00", 10)
	bobs, _, err := f.Orders.CreateOrder(t.Context(), bob, order.CreateOrder{Items: []order.Item{{SKU: "cup", Quantity: 1}}, Key: f.Key()})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		actor   core.Actor
		filter  order.Filter
		want    []int64
		audited []string
	}{
		"a customer":               {ann, order.Filter{}, []int64{mine.ID}, nil},
		"a customer asks for more": {ann, order.Filter{CustomerID: "bob", Grant: core.Grant{Customer: "bob"}}, nil, nil},
		"a seller":                 {shop, order.Filter{}, []int64{mine.ID}, nil},
		"a seller of a customer":   {coretest.OtherShop, order.Filter{CustomerID: "bob"}, []int64{bobs.ID}, nil},
		"an administrator":         {root, order.Filter{}, []int64{bobs.ID, mine.ID}, []string{"root ListOrders orders"}},
		"the system":               {billing, order.Filter{}, nil, nil},
		"nobody":                   {core.Actor{Subject: "ann"}, order.Filter{}, nil, nil},
	} {
		var got []int64
		caused := f.Effects(t, func() {
			found, _, err := f.Orders.ListOrders(t.Context(), c.actor, c.filter, core.Page{Limit: 10})
			if err != nil {
				t.Error(err)
			}
			for _, o := range found {
				got = append(got, o.ID)
			}
		})
		if !slices.Equal(got, c.want) || !slices.Equal(caused.Audited, c.audited) || caused.Events != nil {
			t.Errorf("%s sees %v, leaves %+v; want %v and %v", name, got, caused, c.want, c.audited)
		}
	}
}
