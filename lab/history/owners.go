package history

import "fmt"

// makesResource lists the operations that create a resource. The rest change an
// order, which two principals may do.
var makesResource = map[string]bool{
	"createOrder": true, "confirmPayment": true, "refundPayment": true,
	"creditBalance": true, "chargeBalance": true, "adjustStock": true,
}

// checkOwners checks that no two keys have one effect, and that two principals with
// equal keys share no response.
func checkOwners(attempts []Attempt) []Violation {
	type claim struct{ what, in string }
	owners := map[claim]Attempt{}
	var found []Violation
	check := func(c claim, a Attempt) {
		first, known := owners[c]
		if !known {
			owners[c] = a
			return
		}
		if first.ID() != a.ID() {
			found = append(found, Violation{
				Rule: OneOwner, Subject: c.what, Detail: fmt.Sprintf("of %s, and of %s", first.ID(), a.ID()),
				Attempts: []Attempt{first, a},
			})
		}
	}
	f := failoversOf(attempts)
	for _, a := range filter(attempts, Attempt.took) {
		era, last := f.span(a)
		if era != last {
			continue // the new database may reuse an id
		}
		if a.Effect != "" && makesResource[a.Operation] {
			check(claim{a.Effect, fmt.Sprint(era)}, a)
		}
		if a.Response != "" {
			check(claim{"response " + a.Response, fmt.Sprint(era, " ", a.Key)}, a)
		}
	}
	return found
}
