package main

import "slices"

// area is a part of the service and the mutants of its protections.
type area struct {
	name    string
	mutants []mutant
}

// areas holds every mutant.
var areas = []area{
	{"failures", failureMutants},
	{"guard", guardMutants},
	{"tokens", tokenMutants},
	{"roles", roleMutants},
	{"input", inputMutants},
	{"server", serverMutants},
	{"privacy", privacyMutants},
	{"schema", schemaMutants},
	{"transactions", transactionMutants},
	{"groups", groupMutants},
	{"business", businessMutants},
	{"cards", cardMutants},
	{"messages", messageMutants},
	{"configuration", configMutants},
	{"exposure", exposureMutants},
	{"limits", limitsMutants},
	{"secrets", secretsMutants},
	{"parsing", parsingMutants},
	{"privilege", privilegeMutants},
	{"hoarding", hoardingMutants},
	{"contract", contractMutants},
}

// all returns every mutant, by area.
func all() []mutant {
	var found []mutant
	for _, a := range areas {
		found = slices.Concat(found, a.mutants)
	}
	return found
}
