package fakestripe

import "slices"

// Currencies for which Stripe has a rule, as the documentation lists them: amounts with
// three decimals end in 0, and those in ISK and UGX in 00. Minima are those of an account
// that settles in the currency. Currencies with four decimals are not supported.
var (
	threeDecimals = []string{"bhd", "jod", "kwd", "omr", "tnd", "iqd", "lyd"}
	noFractions   = []string{"isk", "ugx"}
	unsupported   = []string{"clf", "uyw"}
	moreDigits    = []string{"cop", "huf", "idr", "inr", "jpy", "lbp"}

	minimum = map[string]int64{
		"aed": 200, "aud": 50, "brl": 50, "cad": 50, "chf": 50, "czk": 1500, "dkk": 250, "eur": 50, "gbp": 30, "hkd": 400,
		"huf": 17500, "inr": 50, "jpy": 50, "mxn": 1000, "myr": 200, "nok": 300, "nzd": 50, "pln": 200, "ron": 200,
		"sek": 300, "sgd": 50, "thb": 1000, "usd": 50,
	}
)

const largest, largestOfMoreDigits = 99_999_999, 999_999_999_999

// checkCharge refuses an amount that Stripe cannot charge.
func checkCharge(amount int64, currency string) error {
	most := int64(largest)
	if slices.Contains(moreDigits, currency) {
		most = largestOfMoreDigits
	}
	switch {
	case slices.Contains(unsupported, currency):
		return invalid("", "Invalid currency: "+currency)
	case amount < minimum[currency]:
		return invalid("amount_too_small", "Amount must be at least the minimum for "+currency)
	case amount > most:
		return invalid("amount_too_large", "Amount must be no more than the maximum for "+currency)
	}
	return checkUnits(amount, currency)
}

// checkUnits refuses an amount in a unit that cards do not have.
func checkUnits(amount int64, currency string) error {
	multiple := int64(1)
	switch {
	case slices.Contains(threeDecimals, currency):
		multiple = 10
	case slices.Contains(noFractions, currency):
		multiple = 100
	}
	if amount%multiple != 0 {
		return invalid("", "Invalid amount in "+currency+": the last digits must be 0")
	}
	return nil
}
