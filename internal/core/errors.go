package core

import "errors"

// The errors that stores return. Any other store error is a defect or an unexpected
// failure.
var (
	// ErrNotFound: no row has the requested key. Use cases convert it into a [Fault]
	// that names the missing resource.
	ErrNotFound = errors.New("not found")
	// ErrNotGranted: the row exists, but the [Grant] does not cover it. Nothing was
	// locked. Use cases convert it into a [Fault].
	ErrNotGranted = errors.New("not granted")
	// ErrUnavailable: the store could not be reached or could not finish. Nothing was
	// stored, and a retry can succeed.
	ErrUnavailable = errors.New("store unavailable")
	// ErrOutcomeUnknown: the answer to COMMIT was lost. Either everything was stored or
	// nothing, and only the database knows which. A blind retry could do the work twice;
	// a retry with the same key is safe (AUTH-19).
	ErrOutcomeUnknown = errors.New("outcome of the commit unknown")
)
