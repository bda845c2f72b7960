// Package customer stores customer profiles: the only personal data in the service,
// which never enters logs, events or problem documents (AUTH-16).
package customer

import (
	"strings"
	"time"

	"example.com/orders/internal/core"
)

// Profile is a customer's name and contact data.
type Profile struct {
	CustomerID string
	FullName   string
	Email      string
	Phone      string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	// New reports that the profile is not stored yet: Save inserts it.
	New bool
}

func resource(customerID string) string { return "profile/" + customerID }

func auditMetadata(customerID string) core.Metadata {
	return core.Owners{Customer: customerID}.Metadata()
}

// changes returns the names of the members that differ from an earlier version. The
// values are personal data (AUTH-16).
func (p *Profile) changes(before *Profile) string {
	var names []string
	for _, member := range []struct{ name, was, is string }{
		{"full_name", before.FullName, p.FullName}, {"email", before.Email, p.Email}, {"phone", before.Phone, p.Phone},
	} {
		if member.was != member.is {
			names = append(names, member.name)
		}
	}
	return strings.Join(names, " ")
}
