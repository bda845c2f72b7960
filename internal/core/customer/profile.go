// Package customer stores who customers are: the only personal data of the service,
// which never enters logs, events or problem documents (AUTH-16).
package customer

import "time"

// Profile is a customer's name and contact data.
type Profile struct {
	CustomerID string
	FullName   string
	Email      string
	Phone      string
	UpdatedAt  time.Time
	// New reports that the profile has not been stored: Save inserts it.
	New bool
}

// resource names a profile in the audit log.
func resource(customerID string) string { return "profile/" + customerID }
