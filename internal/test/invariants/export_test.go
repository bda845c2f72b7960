package invariants

// Names returns the names of all invariants.
func Names() []string {
	var names []string
	for _, inv := range invariants {
		names = append(names, inv.name)
	}
	return names
}
