package faults

import "example.com/orders/internal/test/e2e"

func (l *Load) check() { e2e.CheckInvariants(l.t, l.DB, nil) }
