package pgtx

// Observer observes transactions.
type Observer interface {
	// TransactionEnded is called with the number of runs until the outcome was final.
	TransactionEnded(runs int)
	// TransactionRestarted is called with the reason for another run.
	TransactionRestarted(reason string)
}

// unobserved is the default observer.
type unobserved struct{}

func (unobserved) TransactionEnded(int)        {}
func (unobserved) TransactionRestarted(string) {}

// Restart reasons: the connection was dead or led to a standby; the server rejected
// writes; a row was held for long.
const (
	deadConnection = "dead_connection"
	readOnlyServer = "read_only"
	lockTimeout    = "lock_timeout"
)
