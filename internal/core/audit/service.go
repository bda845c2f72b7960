// Package audit shows what administrators changed and read (AUTH-12, AUTH-15).
package audit

// Service runs the use cases about the audit log.
type Service struct {
	Store Store
}
