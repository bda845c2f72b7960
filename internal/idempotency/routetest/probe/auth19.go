package probe

const contract = "AUTH-19, the contract of orders, "

// AUTH19 is the profile of this repository.
var AUTH19 = Profile{
	Name: "auth-19", Title: "AUTH-19: effect and response commit together",
	Header: "Idempotency-Key", Marker: [2]string{"Idempotent-Replayed", "true"},
	Rules: map[string]Rule{
		"once":             {[]string{"the right number"}, true, "A request under one key takes effect at most once, and a failed one not at all.", contract + "transactions"},
		"replay":           {[]string{"replayed"}, false, "A retry gets the stored status and the stored body, byte for byte.", contract + "same key, same request"},
		"headers":          {[]string{"the same"}, false, "A retry gets the stored headers.", contract + "same key, same request"},
		"marker":           {[]string{"marked"}, false, "A replay says so: Idempotent-Replayed: true.", contract + "same key, same request"},
		"mismatch":         {[]string{"refused 409"}, false, "A key that belongs to another request is refused with 409.", contract + "same key, other request"},
		"route":            {[]string{"refused 409"}, false, "Method and path belong to the request: with others, the key is refused with 409.", contract + "fingerprint"},
		"variant":          {[]string{"refused"}, true, "A query or a method that the first request did not have gets no stored response.", contract + "fingerprint"},
		"hidden":           {[]string{"hidden"}, true, "What is refused shows nothing of the stored response.", contract + "same key, other request"},
		"spelling":         {[]string{"replayed"}, false, "White space and the order of members do not make another request.", contract + "fingerprint"},
		"quoted":           {[]string{"replayed"}, false, "A key in quotes, as the draft of the IETF writes it, is the same key.", contract + "scope"},
		"missing":          {[]string{"refused 400"}, true, "A command without a key is refused with 400.", contract + "no key"},
		"blank":            {[]string{"refused 400"}, true, "A blank key is no key: 400.", contract + "no key"},
		"twice":            {[]string{"refused 400"}, true, "Two key headers are refused with 400.", contract + "unusable key"},
		"long":             {[]string{"refused 400"}, true, "More than 255 characters are refused with 400.", contract + "unusable key"},
		"query":            {[]string{"refused 400"}, true, "A key in the query is no key: 400.", contract + "no key"},
		"malformed":        {[]string{"refused 400"}, true, "A key has visible ASCII characters only, without quotes, comma, semicolon and backslash: else 400.", contract + "unusable key"},
		"failure":          {[]string{"ran as new"}, false, "Nothing of a 5xx is kept: the same key runs as new.", contract + "5xx"},
		"rollback":         {[]string{"0 effects"}, true, "A command that fails leaves no effect.", contract + "one transaction"},
		"refusal":          {[]string{"replayed"}, false, "A refusal by the business is stored and replayed.", contract + "what is stored"},
		"concurrent":       {[]string{"waited", "refused 409 with Retry-After"}, false, "A duplicate waits for the first response, or gets 409 with Retry-After.", contract + "while the first runs"},
		"concurrent other": {[]string{"refused 409"}, false, "Another request waits like a duplicate, and then gets 409.", contract + "while the first runs"},
		"immediate":        {[]string{"replayed", "refused 409 with Retry-After"}, false, "The response is stored before it is sent.", contract + "one transaction"},
		"crowd":            {[]string{"replayed"}, true, "Every duplicate gets the first response, or is told to come back.", contract + "while the first runs"},
		"hang-up":          {[]string{"answered"}, false, "A client that hangs up does not stop the command, and the retry finds its response.", contract + "hang-up"},
		"killed after":     {[]string{"answered"}, true, "Effect and response commit together: after a crash, the retry finds both.", contract + "one transaction"},
		"killed before":    {[]string{"ran as new"}, true, "A crash leaves nothing to clean: the same key runs as new.", contract + "one transaction"},
		"store":            {[]string{"refused 5", "no answer"}, true, "Without the store, the command does not run.", contract + "one transaction"},
		"expired":          {[]string{"remembered"}, true, "A retry after expiry meets the second line of defence and gets the first result.", contract + "second line of defence"},
		"expired other":    {[]string{"refused"}, true, "Another request under an expired key is refused by the second line of defence.", contract + "second line of defence"},
		"scope":            {[]string{"separate"}, true, "Another principal's equal key is another key.", contract + "scope"},
		"stranger":         {[]string{"refused 401"}, true, "Without credentials there is no replay: 401.", contract + "authentication comes first"},
		"secrets":          {[]string{"hidden"}, true, "No answer contains a token, or what somebody else sent.", contract + "errors"},
	},
}
