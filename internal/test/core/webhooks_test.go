package coretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/webhook"
)

const hookURL = "https://hooks.example/orders"

// checkURL refuses what the sender would never call.
func checkURL(url string) error {
	if strings.HasPrefix(url, "https://hooks.example/") {
		return nil
	}
	return errors.New("must be an https URL")
}

// webhookUseCases concern an endpoint of the shop, which has the id of the order.
var webhookUseCases = []useCase{
	{
		name: "GetWebhookEndpoint", prepare: withEndpoint, do: onEndpoint((*webhook.Service).GetEndpoint),
		allowed: []core.Actor{shop, root}, resource: theEndpoint,
	},
	{
		name: "UpdateWebhookEndpoint", prepare: withEndpoint, do: updateEndpoint(webhook.UpdateEndpoint{Ordered: new(true)}),
		allowed: []core.Actor{shop, root}, resource: theEndpoint,
	},
	{
		name: "DeleteWebhookEndpoint", prepare: withEndpoint, do: deleteEndpoint,
		allowed: []core.Actor{shop, root}, resource: theEndpoint,
	},
	{
		name: "RotateWebhookSecret", prepare: withEndpoint, do: onEndpoint((*webhook.Service).RotateSecret),
		allowed: []core.Actor{shop, root}, resource: theEndpoint,
	},
	{
		name: "TestWebhookEndpoint", prepare: withEndpoint, do: onEndpoint((*webhook.Service).TestEndpoint),
		allowed: []core.Actor{shop, root}, resource: theEndpoint,
	},
	{
		name: "ListWebhookDeliveries", prepare: withEndpoint, do: listDeliveries,
		allowed: []core.Actor{shop, root}, resource: theEndpoint,
	},
	{
		name: "RetryWebhookDelivery", prepare: withDelivery, do: retryDelivery,
		allowed: []core.Actor{shop, root}, resource: theEndpoint,
	},
}

func theEndpoint(o *order.Order) string { return webhook.Resource(o.ID) }

// endpoint creates an endpoint for all events.
func (f *fixture) endpoint(t testing.TB, actor core.Actor, url string) *webhook.Endpoint {
	t.Helper()
	e, err := f.Webhooks.CreateEndpoint(t.Context(), actor, webhook.CreateEndpoint{URL: url, EventTypes: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func withEndpoint(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	return &order.Order{ID: f.endpoint(t, shop, hookURL).ID}
}

func withDelivery(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	o := withEndpoint(t, f)
	if _, err := f.Webhooks.TestEndpoint(t.Context(), shop, o.ID); err != nil {
		t.Fatal(err)
	}
	return o
}

func onEndpoint[R any](do func(*webhook.Service, context.Context, core.Actor, int64) (R, error)) command {
	return func(ctx context.Context, r request) (bool, error) {
		return unkeyed(do(r.Webhooks, ctx, r.actor, r.order.ID))
	}
}

func updateEndpoint(cmd webhook.UpdateEndpoint) command {
	return func(ctx context.Context, r request) (bool, error) {
		cmd.ID = r.order.ID
		return unkeyed(r.Webhooks.UpdateEndpoint(ctx, r.actor, cmd))
	}
}

// describeEndpoint creates an endpoint, and gives it a description and a URL with a text.
func describeEndpoint(text string) command {
	return func(ctx context.Context, r request) (bool, error) {
		cmd := webhook.CreateEndpoint{URL: hookURL + "?" + text, EventTypes: []string{"*"}, Description: text}
		e, err := r.Webhooks.CreateEndpoint(ctx, r.actor, cmd)
		if err != nil {
			return false, err
		}
		update := webhook.UpdateEndpoint{ID: e.ID, URL: new(hookURL + "/2?" + text), Description: new(text + " 2")}
		return unkeyed(r.Webhooks.UpdateEndpoint(ctx, r.actor, update))
	}
}

func deleteEndpoint(ctx context.Context, r request) (bool, error) {
	return false, r.Webhooks.DeleteEndpoint(ctx, r.actor, r.order.ID)
}

func listDeliveries(ctx context.Context, r request) (bool, error) {
	_, _, err := r.Webhooks.ListDeliveries(ctx, r.actor, webhook.Filter{EndpointID: r.order.ID}, core.Page{Limit: 1})
	return false, err
}

// retryDelivery retries the only delivery of the endpoint.
func retryDelivery(ctx context.Context, r request) (bool, error) {
	d := r.deliveries(ctx, r.order.ID)[0]
	return unkeyed(r.Webhooks.RetryDelivery(ctx, r.actor, webhook.RetryDelivery{EndpointID: r.order.ID, DeliveryID: d.ID}))
}

func (f *fixture) deliveries(ctx context.Context, endpointID int64) []*webhook.Delivery {
	found, _, err := f.Webhooks.ListDeliveries(ctx, shop, webhook.Filter{EndpointID: endpointID}, core.Page{Limit: 100})
	if err != nil {
		panic(err)
	}
	return found
}

func TestWebhooks_RefuseInvalidCommands(t *testing.T) {
	t.Parallel()
	create := func(actor core.Actor, url string, types ...string) func(testing.TB, *fixture, *order.Order) error {
		return func(t testing.TB, f *fixture, _ *order.Order) error {
			_, err := f.Webhooks.CreateEndpoint(t.Context(), actor, webhook.CreateEndpoint{URL: url, EventTypes: types})
			return err
		}
	}
	second := func(t testing.TB, f *fixture) *order.Order {
		f.endpoint(t, shop, hookURL+"/2")
		return withEndpoint(t, f)
	}
	full := func(t testing.TB, f *fixture) *order.Order {
		for n := range 10 {
			f.endpoint(t, shop, fmt.Sprintf("%s/%d", hookURL, n))
		}
		return nil
	}
	unknown := webhook.RetryDelivery{EndpointID: 404, DeliveryID: 404}
	checkRefusals(t, map[string]refusal{
		"by a customer":              {nothing, create(ann, hookURL, "*"), core.CodeForbiddenResource, ""},
		"a URL that nobody calls":    {nothing, create(shop, "http://localhost", "*"), core.CodeValidationFailed, "/url"},
		"a type of no event":         {nothing, create(shop, hookURL, "order.*", "order.lost"), core.CodeValidationFailed, "/event_types/1"},
		"a family of no event":       {nothing, create(shop, hookURL, "orders.*"), core.CodeValidationFailed, "/event_types/0"},
		"a second one for a URL":     {withEndpoint, create(shop, hookURL, "*"), core.CodeWebhookEndpointExists, ""},
		"an eleventh":                {full, create(shop, hookURL, "*"), core.CodeValidationFailed, ""},
		"a change to a second's URL": {second, run(updateEndpoint(webhook.UpdateEndpoint{URL: new(hookURL + "/2")}), shop), core.CodeWebhookEndpointExists, ""},
		"a change to a wrong URL":    {withEndpoint, run(updateEndpoint(webhook.UpdateEndpoint{URL: new("ftp://x")}), shop), core.CodeValidationFailed, "/url"},
		"an unknown endpoint":        {nothing, run(deleteEndpoint, root), core.CodeNotFound, ""},
		"an unknown delivery": {withEndpoint, func(t testing.TB, f *fixture, o *order.Order) error {
			_, err := f.Webhooks.RetryDelivery(t.Context(), shop, webhook.RetryDelivery{EndpointID: o.ID, DeliveryID: 404})
			return err
		}, core.CodeNotFound, ""},
		"a delivery of an unknown endpoint": {nothing, func(t testing.TB, f *fixture, _ *order.Order) error {
			_, err := f.Webhooks.RetryDelivery(t.Context(), root, unknown)
			return err
		}, core.CodeNotFound, ""},
	})
}

func TestEndpoints_AreTheirSellersAndThoseForAllSellersAreAdministrators(t *testing.T) {
	t.Parallel()
	f := newFixture()
	ours, theirs, forAll := f.endpoint(t, shop, hookURL), f.endpoint(t, otherShop, hookURL), f.endpoint(t, withAdmin(shop), hookURL+"/all")
	if ours.SellerID != "shop" || forAll.SellerID != "" {
		t.Errorf("sellers %q and %q, want shop and none", ours.SellerID, forAll.SellerID)
	}
	for who, c := range map[string]struct {
		actor core.Actor
		want  []int64
	}{
		"a seller": {shop, []int64{ours.ID}}, "an administrator": {root, []int64{forAll.ID, theirs.ID, ours.ID}}, "a customer": {ann, nil},
	} {
		found, _, err := f.Webhooks.ListEndpoints(t.Context(), c.actor, core.Page{Limit: 10})
		var ids []int64
		for _, e := range found {
			ids = append(ids, e.ID)
		}
		if diff := cmp.Diff(c.want, ids); diff != "" || err != nil {
			t.Errorf("%s sees (-want +got): %s%v", who, diff, err)
		}
	}
	// The role is gone, the name is that of the administrator who made it.
	_, err := f.Webhooks.GetEndpoint(t.Context(), shop, forAll.ID)
	wantCode(t, "an endpoint for all sellers", err, core.CodeForbiddenResource)
}

func TestSecret_IsShownOnceAndChanges(t *testing.T) {
	t.Parallel()
	f := newFixture()
	made := f.endpoint(t, shop, hookURL)
	rotated, err := f.Webhooks.RotateSecret(t.Context(), shop, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{made.NewSecret, rotated.NewSecret} {
		if !strings.HasPrefix(secret, "whsec_") || len(secret) != len("whsec_")+44 {
			t.Errorf("the secret %q is not one of 32 bytes", secret)
		}
	}
	if made.NewSecret == rotated.NewSecret || rotated.PreviousUntil.Sub(f.now()) != 24*time.Hour {
		t.Errorf("the secret is the same, or the previous one signs until %s", rotated.PreviousUntil)
	}
	if read, err := f.Webhooks.GetEndpoint(t.Context(), shop, made.ID); err != nil || read.NewSecret != "" {
		t.Errorf("a later read shows %q, %v", read.NewSecret, err)
	}
}

func TestEndpoint_IsDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := withEndpoint(t, f)
	set := func(disabled bool) *webhook.Endpoint {
		e, err := f.Webhooks.UpdateEndpoint(t.Context(), shop, webhook.UpdateEndpoint{ID: o.ID, Disabled: &disabled})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := set(true); !e.DisabledAt.Equal(f.now()) || e.DisabledReason != webhook.DisabledByRequest {
		t.Errorf("disabled at %s: %q", e.DisabledAt, e.DisabledReason)
	}
	before := f.now()
	f.advanceClock(time.Hour)
	if e := set(true); !e.DisabledAt.Equal(before) {
		t.Errorf("the second request changes the time to %s", e.DisabledAt)
	}
	if e := set(false); !e.DisabledAt.IsZero() || e.DisabledReason != "" {
		t.Errorf("enabled: disabled at %s: %q", e.DisabledAt, e.DisabledReason)
	}
}

// What is stored may be refused by now: a setting has changed, or an event type is gone. Its
// owner can still disable the endpoint.
func TestUpdateEndpoint_ChecksOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := withEndpoint(t, f)
	f.Webhooks.EventTypes, f.Webhooks.CheckURL = nil, func(string) error { return errors.New("must be another URL") }
	mustRun(t, f, updateEndpoint(webhook.UpdateEndpoint{Disabled: new(true)}), shop, o)
	wantCode(t, "a URL", run(updateEndpoint(webhook.UpdateEndpoint{URL: new(hookURL)}), shop)(t, f, o), core.CodeValidationFailed)
	wantCode(t, "types", run(updateEndpoint(webhook.UpdateEndpoint{EventTypes: []string{"*"}}), shop)(t, f, o), core.CodeValidationFailed)
}

func TestRetryDelivery_BeginsAnew(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := withDelivery(t, f)
	first := f.deliveries(t.Context(), o.ID)[0]
	if first.Status != webhook.Pending || !first.NextAttemptAt.Equal(f.now()) || first.EventType != webhook.EventTest {
		t.Errorf("a test event is %+v, want it due now", first)
	}
	given := *first
	given.Status, given.NextAttemptAt, given.FinishedAt = webhook.Failed, time.Time{}, f.now()
	given.Last = webhook.Outcome{Status: 500, Start: "no", Failure: webhook.FailedStatus}
	f.record(t, &given)
	f.advanceClock(time.Hour)
	cmd := webhook.RetryDelivery{EndpointID: o.ID, DeliveryID: first.ID}
	if _, err := f.Webhooks.RetryDelivery(t.Context(), shop, cmd); err != nil {
		t.Fatal(err)
	}
	want := *first
	want.NextAttemptAt = f.now()
	if diff := cmp.Diff(&want, f.deliveries(t.Context(), o.ID)[0]); diff != "" {
		t.Errorf("the delivery (-want +got):\n%s", diff)
	}
}

// record records an attempt.
func (f *fixture) record(t testing.TB, d *webhook.Delivery) {
	t.Helper()
	err := f.Store.Webhooks().InTx(t.Context(), func(ctx context.Context, tx webhook.Tx) error { return tx.Deliveries.Record(ctx, d) })
	if err != nil {
		t.Fatal(err)
	}
}
