package postgres

import "testing"

func TestServerError_NamesConditionAndConstraint(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*serverError{
		"SQLSTATE 25006 (read_only_sql_transaction)":    {state: "25006"},
		"SQLSTATE 23505 on payment_key":                 {state: "23505", constraint: "payment_key"},
		"SQLSTATE 42501 (insufficient_privilege) on t1": {state: "42501", constraint: "t1"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
