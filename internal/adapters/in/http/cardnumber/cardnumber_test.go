package cardnumber

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// The numbers are those that card networks publish for tests.
func TestIn_FindsNumbersAsPeopleWriteThem(t *testing.T) {
	for _, text := range []string{
		// one piece, of each network
		"4242424242424242", "5555555555554444", "2223003122003222", "378282246310005",
		"6011111111111117", "3530111333300000", "6205500000000000004", "2200000000000004", "6759649826438453",
		// other groups
		"4242 424242424242", "42424242 42424242", "3782 822463 10005", "6205 5000 0000 0000 004",
		"42 42 42 42 42 42 42 42", "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2", "424 242 424 242 424 2",
		// separators
		"4242 4242 4242 4242", "4242-4242-4242-4242", "4242.4242.4242.4242", "4242/4242/4242/4242", "4242_4242_4242_4242",
		"4242\t4242\t4242\t4242", "4242 - 4242 - 4242 - 4242", "4242  4242--4242 4242", "4242,4242,4242,4242", "4242:4242:4242:4242",
		"4242|4242|4242|4242", "4242*4242*4242*4242", "4242·4242·4242·4242", "(4242)(4242)(4242)(4242)", `4242\4242\4242\4242`,
		"4242\u00a04242\u00a04242\u00a04242", "4242\u20094242\u20094242\u20094242", "4242\u202f4242\u202f4242\u202f4242", "4242\u30004242\u30004242\u30004242",
		"4242‐4242‐4242‐4242", "4242‑4242‑4242‑4242", "4242–4242–4242–4242", "4242—4242—4242—4242", "4242−4242−4242−4242", "4242－4242－4242－4242",
		"4242\n4242\n4242\n4242", "4242\r\n4242\r\n4242\r\n4242",
		// characters that nobody sees
		"4242\u200b4242\u200b4242\u200b4242", "42\u200d42424242424242", "4242\u00ad4242\u00ad4242\u00ad4242", "\ufeff4242424242424242", "4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣",
		// other digits
		"４２４２４２４２４２４２４２４２", "４２４２　４２４２　４２４２　４２４２", "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢", "۴۲۴۲ ۴۲۴۲ ۴۲۴۲ ۴۲۴۲", "४२४२४२४२४२४२४२४२", "𝟒𝟐𝟒𝟐𝟒𝟐𝟒𝟐𝟒𝟐𝟒𝟐𝟒𝟐𝟒𝟐", "4٢4２4242424242४२",
		// percent-encoded
		"4242%204242%204242%204242", "4242%2D4242%2d4242%2D4242", "%34242424242424242", "4242%25204242%25204242%25204242", "100% of 4242%204242%204242%204242",
		// in a text
		"pay 4000 0566 5566 5556 please", "7 4242 4242 4242 4242 2026", "call 1234, card 4242  4242--4242 4242", "order-4242-4242-4242-4242",
		"card4242424242424242", "pm_4242424242424242", "карта 4242 4242 4242 4242, спасибо", "4242424242424242/12/26/123",
	} {
		if !In(text) {
			t.Errorf("%q: not found", text)
		}
	}
}

func TestIn_LeavesOtherNumbersAlone(t *testing.T) {
	for _, text := range []string{
		"", "tea", "4242424242424241" /* check digit */, "42424242424242424242" /* 20 digits */, "424242424242" /* 12 digits */, "9999999999999995", /* no network issues these */
		// identifiers and times
		"1762248600000", "1762248600000000", "1762248600000000000", "20261104093000", "2026-11-04-000123", "2026-11-04T09:30:00.123456789Z", "1041", "9223372036854775807",
		"0199c0de-7a1b-7c2d-8e3f-4a5b6c7d8e9f", "42424242-4242-4242-8242-424242424242", "4242424242424242424242424242abcd",
		// amounts, telephone numbers, lists
		"4500.00 5200.00 6300.50", "4 500 000.00", "+7 916 123-45-67, +7 916 765-43-21", "+491512345678901", "4242, 4242, 4242, 4242", "sizes 40, 42, 44, 46, 48, 50, 52, 54",
		// groups that nobody writes
		"42 4242424242 4242", "4242 42 42 42 42 42 42", "4242a4242b4242c4242", "4242     4242     4242     4242",
		// barcodes
		"4006381333931x", "6901234567892", "5901234123457", "4222222222222", "30569309025904", "38520000023237", "3056 930902 5904",
	} {
		if In(text) {
			t.Errorf("%q: taken for a card number", text)
		}
	}
}

func TestInMember_SearchesFreeTextsOnly(t *testing.T) {
	for _, c := range []struct {
		member, value string
		want          bool
	}{
		{"description", "4242424242424242", true},
		{"reason", "4242-4242-4242-4242", true},
		{"name", "tea 4242424242424242", true},
		{"full_name", "4242424242424242", true},
		{"payment_method", "pm_4242424242424242", true},
		{"description", "barcode 4222222222222", false},
		{"amount", "378282246310005", false},
		{"sku", "4242424242424242", false},
		{"customer_id", "4242424242424242", false},
		{"phone", "+378282246310005", false},
		{"email", "4242424242424242@example.com", false},
		{"reference", "4242424242424242", false},
	} {
		if got := InMember(c.member, c.value); got != c.want {
			t.Errorf("%s %s: got %t, want %t", c.member, c.value, got, c.want)
		}
	}
}

func TestDigitValue_KnowsEveryScript(t *testing.T) {
	for _, zero := range "0٠۰߀०০੦૦୦௦౦೦൦๐໐༠၀០᠐０𝟎𝟘𝟢𝟬𝟶" {
		for value := range rune(10) {
			if got := digitValue(zero + value); got != value {
				t.Errorf("%q: got %d, want %d", zero+value, got, value)
			}
		}
	}
}

// drawn returns n random characters of an alphabet.
func drawn(random *rand.Rand, n int, alphabet string) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(text)
}

// A program that makes its keys and ids at random is never refused by chance.
func TestIn_NeverFindsOneInGeneratedIDs(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 26)) // the same ids in every run
	hexadecimal := func(n int) string { return drawn(random, n, "0123456789abcdef") }
	for name, generate := range map[string]func(i int) string{
		"UUID": func(int) string {
			h := hexadecimal(32)
			return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
		},
		"UUID of the library": func(int) string { return uuid.NewString() },
		"UUID of digits": func(int) string {
			d := strconv.FormatUint(random.Uint64()>>2|1<<62, 10)[:16] + strconv.FormatUint(random.Uint64()>>2|1<<62, 10)[:16]
			return d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:]
		},
		"key with a UUID":     func(int) string { h := hexadecimal(32); return "pay_" + strings.ToUpper(h) + "_retry" },
		"UUID without dashes": func(int) string { return hexadecimal(32) },
		"object id":           func(int) string { return hexadecimal(24) },
		"hash": func(i int) string {
			sum := sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
			return hex.EncodeToString(sum[:])
		},
		"ULID":             func(int) string { return "01" + drawn(random, 24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") },
		"order number":     func(i int) string { return "2026-11-04-" + strconv.Itoa(100_000+i) },
		"order":            strconv.Itoa,
		"microseconds":     func(i int) string { return strconv.Itoa(1_762_248_600_000_000 + i*7919) },
		"till and receipt": func(i int) string { return "till-" + strconv.Itoa(i%90+10) + "-receipt-" + strconv.Itoa(i) },
	} {
		found := 0
		for i := range 100_000 {
			if id := generate(i); In(id) {
				found++
				t.Logf("%s %s", name, id)
			}
		}
		if found > 0 {
			t.Errorf("%s: %d of 100000 are taken for a card number", name, found)
		}
	}
}
