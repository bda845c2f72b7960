package customer

// Service runs the customer use cases.
type Service struct {
	Store Store
}
