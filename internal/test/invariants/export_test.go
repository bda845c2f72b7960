package invariants

// Names returns the names of all invariants.
func Names() []string {
	names := []string{stockIsConserved}
	for _, inv := range invariants {
		names = append(names, inv.name)
	}
	return names
}
