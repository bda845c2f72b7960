package main

import (
	"maps"
	"slices"

	"example.com/orders/kit/guard/routetest/probe"
)

// silent is the source of a rule that the documents of a profile do not mention.
const silent = "the source says nothing; auth19 asks it of every profile"

// common are the default rules of profiles. They excuse every choice
// that costs nobody money and shows nobody a secret.
var common = map[string]probe.Rule{
	"once":             {Want: []string{"the right number of effects"}, Must: true, Says: "A request under one key takes effect at most once.", Where: silent},
	"replay":           {Want: []string{"replayed"}, Says: "A retry gets the first response.", Where: silent},
	"marker":           {Want: []string{"marked", "not marked"}, Says: "A replay need not say that it is one.", Where: silent},
	"mismatch":         {Want: []string{"refused 4"}, Must: true, Says: "A key that belongs to another request is refused.", Where: silent},
	"distinct":         {Want: []string{"another key"}, Must: true, Says: "A key that differs in one character is another key.", Where: silent},
	"route":            {Want: []string{"refused 4", "ran"}, Must: true, Says: "Another route gets no stored response.", Where: silent},
	"hidden":           {Want: []string{"hidden"}, Must: true, Says: "A refusal shows nothing of the stored response.", Where: silent},
	"failure":          {Want: []string{"ran as new", "replayed"}, Must: true, Says: "After a 5xx, the key either runs again or keeps the failure; it is not stuck.", Where: silent},
	"refusal":          {Want: []string{"replayed", "ran again"}, Says: "A refusal may be kept or not.", Where: silent},
	"concurrent":       {Want: []string{"waited", "refused 409", "refused 423", "refused 425", "refused 429", "told to come back"}, Says: "A duplicate waits, or has to come back.", Where: silent},
	"concurrent other": {Want: []string{"refused 4", "told to come back"}, Must: true, Says: "Another request under the key of a running one is refused.", Where: silent},
	"immediate":        {Want: []string{"replayed", "refused 409", "refused 423", "refused 425", "refused 429"}, Says: "A response is sent after it is stored, so that a retry finds it.", Where: silent},
	"crowd":            {Want: []string{"replayed"}, Says: "Every duplicate gets the first response, or has to come back.", Where: silent},
	"hang-up":          {Want: []string{"answered", "ran as new"}, Must: true, Says: "After a lost connection, a retry is answered.", Where: silent},
	"killed after":     {Want: []string{"answered", "ran as new"}, Must: true, Says: "After a crash, a retry is answered.", Where: silent},
	"killed before":    {Want: []string{"ran as new"}, Must: true, Says: "A process that is dead holds no key.", Where: silent},
	"store":            {Want: []string{"refused 5", "no answer"}, Must: true, Says: "Without the store of keys, nothing runs unprotected.", Where: silent},
	"expired":          {Want: []string{"ran", "remembered", "refused"}, Says: "The server chooses the effect of an expired key.", Where: silent},
	"scope":            {Want: []string{"separate", "refused"}, Must: true, Says: "No caller gets another caller's response.", Where: silent},
	"stranger":         {Want: []string{"refused 4", "refused 3"}, Must: true, Says: "Without credentials there is no replay.", Where: silent},
	"secrets":          {Want: []string{"hidden"}, Must: true, Says: "No answer contains a token, or another caller's text.", Where: silent},
}

// with returns the common rules with those of a profile in their place.
func with(own map[string]probe.Rule) map[string]probe.Rule {
	rules := maps.Clone(common)
	maps.Copy(rules, own)
	return rules
}

const (
	draft    = "draft-ietf-httpapi-idempotency-key-header-07 "
	stripeV1 = "Stripe API reference, idempotent requests (v1)"
	stripeE  = "Stripe, advanced error handling (v1)"
	stripeV2 = "Stripe API reference, idempotent requests (v2)"
	payPal   = "PayPal REST reference, idempotency"
	latest   = "A retry gets the latest status of the first request, which may have changed."
	acp      = "Agentic Commerce Protocol 2026-04-17, agentic checkout RFC "
	ucp      = "Universal Commerce Protocol, message signatures, replay protection"
)

// profiles by name.
var profiles = func() map[string]probe.Profile {
	all := map[string]probe.Profile{}
	for _, p := range []probe.Profile{probe.AUTH19, draft07, stripe1, stripe2, paypal, agentic, universal} {
		p.Elsewhere = func(rule, outcome string) bool {
			for name, other := range all {
				if name != p.Name && other.Wants(rule, outcome) {
					return true
				}
			}
			return false
		}
		all[p.Name] = p
	}
	return all
}()

var draft07 = probe.Profile{
	Name: "draft-07", Title: "IETF draft, The Idempotency-Key HTTP Header Field, revision 07", Header: "Idempotency-Key", Quoted: true,
	Rules: with(map[string]probe.Rule{
		"once":             {Want: []string{"the right number of effects"}, Must: true, Says: "A key enforces idempotency: a duplicate is no second operation.", Where: draft + "§2.6"},
		"replay":           {Want: []string{"replayed"}, Says: "A retry after the first request has completed should get its result.", Where: draft + "§2.6"},
		"mismatch":         {Want: []string{"refused 422"}, Says: "A key that is used again with another payload should get 422.", Where: draft + "§2.7"},
		"missing":          {Want: []string{"refused 400"}, Says: "Where a key is required, a request without one should get 400.", Where: draft + "§2.7"},
		"failure":          {Want: []string{"replayed", "ran as new"}, Must: true, Says: "A retry should get the result, an error included; the documentation says how a 5xx goes on.", Where: draft + "§2.6, §2.7"},
		"refusal":          {Want: []string{"replayed"}, Says: "A retry should get the result of the first request, also when that is an error.", Where: draft + "§2.6"},
		"concurrent":       {Want: []string{"refused 409"}, Says: "A duplicate of a request that is still being processed should get 409.", Where: draft + "§2.7"},
		"concurrent other": {Want: []string{"refused 409", "refused 422"}, Says: "Another payload should get 422, and a key whose request is still being processed 409.", Where: draft + "§2.7"},
		"killed before":    {Want: []string{"ran as new"}, Must: true, Says: "409 is for a request that is still being processed; after a crash none is.", Where: draft + "§2.7"},
		"expired":          {Want: []string{"ran", "remembered", "refused"}, Says: "When keys expire is the server's policy.", Where: draft + "§2.3"},
		"scope":            {Want: []string{"separate", "refused"}, Must: true, Says: "No client may fetch another client's stored response; a look-up key that includes attributes of the client prevents it.", Where: draft + "§5"},
	}),
}

var stripe1 = probe.Profile{
	Name: "stripe-v1", Title: "Stripe API v1", Header: "Idempotency-Key", Marker: [2]string{"Idempotent-Replayed", "true"},
	Rules: with(map[string]probe.Rule{
		"once":       {Want: []string{"the right number of effects"}, Must: true, Says: "A repeated request creates no second object and makes no second update.", Where: stripeV1},
		"replay":     {Want: []string{"replayed"}, Must: true, Says: "Retries get the stored status and body.", Where: stripeV1},
		"marker":     {Want: []string{"marked"}, Says: "A replay carries Idempotent-Replayed: true.", Where: stripeE},
		"mismatch":   {Want: []string{"refused 4"}, Must: true, Says: "Parameters that differ from those of the first request are an error.", Where: stripeV1},
		"spelling":   {Want: []string{"replayed"}, Says: "Parameters are compared, not bytes.", Where: stripeV1},
		"missing":    {Want: []string{"ran"}, Says: "A key is optional.", Where: stripeV1},
		"long":       {Want: []string{"refused 4"}, Says: "A key has up to 255 characters.", Where: stripeV1},
		"failure":    {Want: []string{"replayed"}, Says: "500 errors are stored as well, once the endpoint has begun.", Where: stripeV1},
		"refusal":    {Want: []string{"replayed"}, Says: "The response is stored whether the request succeeded or failed, once the endpoint has begun.", Where: stripeV1},
		"concurrent": {Want: []string{"refused 409"}, Says: "A conflict with a request that runs at the same time is an error that is not stored: 409.", Where: stripeV1 + "; " + stripeE},
		"expired":    {Want: []string{"ran"}, Says: "A key that was pruned makes a new request.", Where: stripeV1},
	}),
}

var stripe2 = probe.Profile{
	Name: "stripe-v2", Title: "Stripe API v2", Header: "Idempotency-Key",
	Rules: with(map[string]probe.Rule{
		"once":    {Want: []string{"the right number of effects"}, Must: true, Says: "Retries do not repeat an operation that succeeded.", Where: stripeV2},
		"route":   {Want: []string{"ran", "refused 4"}, Must: true, Says: "A key belongs to one API.", Where: "Stripe, API v2 overview, idempotency"},
		"missing": {Want: []string{"ran"}, Says: "A key is optional.", Where: stripeV2},
		"failure": {Want: []string{"ran as new"}, Says: "A retry of failed work tries to complete it and gets the updated response.", Where: stripeV2},
		"refusal": {Want: []string{"ran again"}, Says: "A retry after a failure is tried again; if it cannot succeed, an error explains why.", Where: stripeV2},
		"scope":   {Want: []string{"separate", "refused"}, Must: true, Says: "A key belongs to one account or sandbox.", Where: "Stripe, API v2 overview, idempotency"},
	}),
}

var paypal = probe.Profile{
	Name: "paypal", Title: "PayPal-Request-Id", Header: "PayPal-Request-Id",
	Rules: with(map[string]probe.Rule{
		"once":       {Want: []string{"the right number of effects"}, Must: true, Says: "A repeated call does not create or complete an action once more.", Where: payPal},
		"replay":     {Want: []string{"replayed", "another body", "status 2"}, Says: latest, Where: payPal},
		"mismatch":   {Want: []string{"refused 4"}, Must: true, Says: "An ID that another request has used is an error.", Where: "PayPal payment tokens v3, PAYPAL_REQUEST_ID_PREVIOUSLY_USED"},
		"missing":    {Want: []string{"ran"}, Says: "Without the header, the request is executed again.", Where: payPal},
		"failure":    {Want: []string{"ran as new"}, Says: "Calls that failed with 5xx can be retried.", Where: payPal},
		"concurrent": {Want: []string{"waited", "another body", "status 2", "refused 4"}, Says: "Of two requests at the same time the first is processed, and the second may fail.", Where: payPal},
		"immediate":  {Want: []string{"replayed", "another body", "status 2", "refused 409"}, Says: latest, Where: payPal},
		"crowd":      {Want: []string{"replayed", "another body", "status 2"}, Says: latest, Where: payPal},
		"refusal":    {Want: []string{"replayed", "another body", "ran again"}, Says: latest, Where: payPal},
		"expired":    {Want: []string{"ran"}, Says: "An ID is known for as long as the server stores it.", Where: payPal},
	}),
}

var agentic = probe.Profile{
	Name: "acp", Title: "Agentic Commerce Protocol", Header: "Idempotency-Key", Marker: [2]string{"Idempotent-Replayed", "true"},
	Rules: with(map[string]probe.Rule{
		"once":             {Want: []string{"the right number of effects"}, Must: true, Says: "A replay must not repeat side effects.", Where: acp + "§6.3"},
		"replay":           {Want: []string{"replayed"}, Must: true, Says: "The same key and body must get the original response and status.", Where: acp + "§6.3"},
		"crowd":            {Want: []string{"replayed"}, Must: true, Says: "The same key and body must get the original response and status.", Where: acp + "§6.3"},
		"marker":           {Want: []string{"marked"}, Says: "A replay should carry Idempotent-Replayed: true.", Where: acp + "§6.3"},
		"mismatch":         {Want: []string{"refused 422"}, Says: "The same key with another body gets 422.", Where: acp + "§6.4"},
		"route":            {Want: []string{"ran"}, Says: "Keys must be scoped to the endpoint's path: on another one, the key is another.", Where: acp + "§6.1"},
		"spelling":         {Want: []string{"replayed"}, Must: true, Says: "Bodies are equal if their JSON is, in any order of members.", Where: acp + "§6.2"},
		"quoted":           {Want: []string{"another key"}, Says: "A key is an opaque text, to which quotes belong.", Where: acp + "§6.1"},
		"missing":          {Want: []string{"refused 400"}, Must: true, Says: "A POST without a key must be refused with 400.", Where: acp + "§6.1"},
		"long":             {Want: []string{"refused 4"}, Says: "A key has at most 255 characters.", Where: acp + "§6.1"},
		"failure":          {Want: []string{"ran as new"}, Must: true, Says: "A 5xx must not be stored; a retry must be processed as a fresh request.", Where: acp + "§6.5"},
		"refusal":          {Want: []string{"replayed"}, Says: "The same key and body get the original response.", Where: acp + "§6.3"},
		"concurrent":       {Want: []string{"refused 409"}, Says: "A request whose original is still in flight gets 409; it should carry Retry-After.", Where: acp + "§6.4"},
		"concurrent other": {Want: []string{"refused 409", "refused 422"}, Must: true, Says: "Another body gets 422, and a key in flight 409.", Where: acp + "§6.4"},
		"expired":          {Want: []string{"ran"}, Says: "A key that is used after its expiry makes a new request.", Where: acp + "§6.6"},
		"scope":            {Want: []string{"separate"}, Must: true, Says: "Keys must be scoped to the authenticated identity.", Where: acp + "§6.1"},
	}),
}

var universal = probe.Profile{
	Name: "ucp", Title: "Universal Commerce Protocol", Header: "Idempotency-Key",
	Rules: with(map[string]probe.Rule{
		"once":     {Want: []string{"the right number of effects"}, Must: true, Says: "A duplicate is not executed again.", Where: ucp},
		"replay":   {Want: []string{"replayed"}, Must: true, Says: "A duplicate with the same payload gets the cached response.", Where: ucp},
		"crowd":    {Want: []string{"replayed"}, Must: true, Says: "A duplicate with the same payload gets the cached response.", Where: ucp},
		"mismatch": {Want: []string{"refused 409"}, Must: true, Says: "A duplicate with another payload is refused with 409 and not executed.", Where: ucp},
		"route":    {Want: []string{"ran"}, Says: "A key is unique for one type of operation.", Where: ucp},
		"spelling": {Want: []string{"refused 409"}, Must: true, Says: "Payloads are compared by the digest of their bytes: other white space is another payload.", Where: ucp},
		"missing":  {Want: []string{"refused 4"}, Says: "The REST binding declares the header as required.", Where: "Universal Commerce Protocol, rest.openapi.json"},
		"store":    {Want: []string{"refused 503"}, Must: true, Says: "When the storage of keys fails, the request is refused with 503.", Where: ucp},
		"scope":    {Want: []string{"separate"}, Must: true, Says: "A key is unique for one client.", Where: ucp},
	}),
}

func profileNames() []string { return slices.Sorted(maps.Keys(profiles)) }
