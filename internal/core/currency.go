package core

// Currency is an active ISO 4217 alphabetic code.
type Currency string

// ParseCurrency converts an upper-case code and reports whether ISO 4217 lists it as
// active.
func ParseCurrency(code string) (Currency, bool) {
	_, other := unusualDecimals[Currency(code)]
	_, usual := twoDecimals[Currency(code)]
	return Currency(code), other || usual
}

// Decimals returns the ISO 4217 exponent: 2 for RUB, 0 for JPY, 3 for KWD.
func (c Currency) Decimals() int {
	if n, ok := unusualDecimals[c]; ok {
		return n
	}
	return 2
}

// unusualDecimals holds the currencies whose minor unit is not a hundredth.
var unusualDecimals = map[Currency]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0,
	"PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

var twoDecimals = currencySet(
	"AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD",
	"CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP",
	"GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK",
	"LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO",
	"NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS",
	"SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST",
	"XAD XCD XCG YER ZAR ZMW ZWG",
)

func currencySet(lines ...string) map[Currency]struct{} {
	const width = len("RUB ")
	set := map[Currency]struct{}{}
	for _, line := range lines {
		for i := 0; i < len(line); i += width {
			set[Currency(line[i:i+width-1])] = struct{}{}
		}
	}
	return set
}
