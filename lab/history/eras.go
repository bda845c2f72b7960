package history

// failovers are the history lines at which a new database took over.
type failovers []Attempt

func failoversOf(attempts []Attempt) failovers {
	return byStart(filter(attempts, func(a Attempt) bool { return a.Operation == Failover }))
}

// span returns the first and the last database that may have answered an attempt,
// counted from 0. They differ if the attempt overlaps a failover.
func (f failovers) span(a Attempt) (first, last int) {
	for _, failover := range f {
		if failover.End < a.Start {
			first++
		}
		if failover.Start <= a.End {
			last++
		}
	}
	return first, last
}

// split returns the attempts that each database may have seen. An unknown one may also
// reach all later ones. An attempt that overlaps a failover may belong to either
// database, so it is unknown in both.
func (f failovers) split(attempts []Attempt) [][]Attempt {
	eras := make([][]Attempt, len(f)+1)
	for _, a := range attempts {
		first, last := f.span(a)
		if a.Outcome == Unknown {
			last = len(f)
		}
		if first < last {
			if !a.command() && a.Operation != Expiry {
				continue // either one may have answered the read, so it is no proof
			}
			a = a.lost()
		}
		for era := first; era <= last; era++ {
			eras[era] = append(eras[era], a)
		}
	}
	return eras
}

// lost returns the attempt as if its answer had been lost.
func (a Attempt) lost() Attempt {
	a.Outcome, a.Status, a.Code, a.Result, a.Response, a.Effect, a.After = Unknown, 0, "", "", "", "", nil
	return a
}
