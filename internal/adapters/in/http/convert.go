package httpapi

// each translates a list. An empty list stays a list and never becomes null.
func each[A, B any](list []A, translate func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = translate(v)
	}
	return out
}

// valueOf returns the zero value for an absent member.
func valueOf[T any](p *T) T {
	var v T
	if p != nil {
		v = *p
	}
	return v
}

// orNull returns nil for empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
