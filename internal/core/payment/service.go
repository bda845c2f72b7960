package payment

// Service runs the use cases about money.
type Service struct {
	Store Store
	// Gateway is nil where cards are not accepted.
	Gateway Gateway
}
