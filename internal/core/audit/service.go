// Package audit shows changes and reads by administrators (AUTH-12, AUTH-15).
package audit

// Service runs the audit log use cases.
type Service struct {
	Store Store
}
