package customer

// Service runs the use cases about customers.
type Service struct {
	Store Store
}
