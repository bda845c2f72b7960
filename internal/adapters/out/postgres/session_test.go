package postgres_test

import (
	"testing"
)

// The locks are made for READ COMMITTED, whatever a role or a URL sets, and a process that
// stalls in a transaction must not keep them.
func TestOpen_SetsWhatTheLocksRelyOn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := open(t, d.url+"&default_transaction_isolation=serializable")
	for setting, want := range map[string]string{
		"transaction_isolation":               "read committed",
		"idle_in_transaction_session_timeout": "15s",
	} {
		var got string
		if err := db.Pool().QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", setting, got, err, want)
		}
	}
}
