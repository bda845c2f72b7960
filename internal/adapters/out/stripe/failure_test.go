package stripe_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/orders/api"
	"example.com/orders/internal/adapters/out/stripe"
)

func TestFailures_AreThoseOfTheContractAndThePage(t *testing.T) {
	t.Parallel()
	want := stripe.Failures()
	if diff := cmp.Diff(want, contractFailures(t)); diff != "" {
		t.Errorf("values in api/openapi.yaml (-adapter +contract):\n%s", diff)
	}
	page, err := os.ReadFile("../../../../docs/use.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| `failure` |")
	table, _, _ = strings.Cut(table, "\n\n")
	var explained []string
	for _, row := range strings.Split(table, "\n")[2:] {
		for _, value := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			explained = append(explained, value[1])
		}
	}
	slices.Sort(explained)
	if diff := cmp.Diff(want, explained); diff != "" {
		t.Errorf("values in docs/use.md (-adapter +page):\n%s", diff)
	}
}

// contractFailures returns the values of a payment's failure that the contract lists.
func contractFailures(t *testing.T) []string {
	t.Helper()
	var contract struct {
		Components struct {
			Schemas map[string]struct {
				Values []string `yaml:"x-extensible-enum"`
			}
		}
	}
	if err := yaml.Unmarshal(api.OpenAPI, &contract); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(contract.Components.Schemas["PaymentFailure"].Values))
}

func TestCharge_RefusesForAListedReason(t *testing.T) {
	t.Parallel()
	const invalid, card = "invalid_request_error", "card_error"
	decline := func(code string) string { return failure(card, "card_declined", `, "decline_code": "`+code+`"`) }
	cancelled := func(reason string) string { return intent("canceled", `, "cancellation_reason": "`+reason+`"`) }
	tests := map[string]struct {
		response response
		want     string
	}{
		"decline code":           {response{402, decline("stolen_card"), nil}, "stolen_card"},
		"new decline code":       {response{402, decline("teleported"), nil}, "generic_decline"},
		"no decline code":        {response{402, failure(card, "card_declined", ""), nil}, "generic_decline"},
		"code of a card":         {response{402, failure(card, "expired_card", ""), nil}, "expired_card"},
		"new code of a card":     {response{402, failure(card, "teleported", ""), nil}, "generic_decline"},
		"card error":             {response{402, failure(card, "", ""), nil}, "generic_decline"},
		"unknown card":           {response{400, failure(invalid, "resource_missing", ""), nil}, "unknown_card"},
		"used up card":           {response{400, failure(invalid, "payment_method_unexpected_state", ""), nil}, "unusable_card"},
		"no card":                {response{400, failure(invalid, "payment_method_unsupported_type", ""), nil}, "unusable_card"},
		"small amount":           {response{400, failure(invalid, "amount_too_small", ""), nil}, "unsupported_amount"},
		"large amount":           {response{400, failure(invalid, "amount_too_large", ""), nil}, "unsupported_amount"},
		"authentication":         {response{402, failure(card, "authentication_required", ""), nil}, "authentication_required"},
		"other code":             {response{400, failure(invalid, "parameter_unknown", ""), nil}, "unknown_reason"},
		"no code":                {response{400, failure(invalid, "", ""), nil}, "unknown_reason"},
		"cancelled":              {response{200, intent("canceled", ""), nil}, "cancelled"},
		"cancelled by us":        {response{200, cancelled("abandoned"), nil}, "cancelled"},
		"cancelled as fraud":     {response{200, cancelled("fraudulent"), nil}, "fraudulent"},
		"cancelled, new reason":  {response{200, cancelled("teleported"), nil}, "cancelled"},
		"declined in the intent": {response{200, intent("requires_payment_method", lostCard), nil}, "lost_card"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gateway, _ := stubbed(test.response)
			got, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
			if err != nil || got.Reason != test.want {
				t.Errorf("reason %q, err = %v; want %q", got.Reason, err, test.want)
			}
		})
	}
}
