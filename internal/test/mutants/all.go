package main

import "slices"

// all returns every mutant, by area.
func all() []mutant {
	return slices.Concat(
		failureMutants,
		exposureMutants,
		limitsMutants,
		secretsMutants,
		tokenMutants,
	)
}
