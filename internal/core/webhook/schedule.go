package webhook

import "time"

const (
	// failsFor is how long an endpoint may fail before it is disabled. It is shorter than
	// deliveries are kept, so that those which wait survive the pause.
	failsFor = 5 * 24 * time.Hour
	// maxRetryAfter bounds what a receiver may ask for.
	maxRetryAfter = 24 * time.Hour
	// statusGone is the response of a receiver that wants no more events.
	statusGone = 410
)

// pauses follow the failed attempts of a delivery. After the last one it is given up.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// pause returns how long a delivery waits after a failed attempt, and false if it is given
// up. The jitter, from -1 to 1, keeps deliveries that failed together from returning
// together.
func pause(attempt int, retryAfter time.Duration, jitter float64) (time.Duration, bool) {
	if attempt > len(pauses) {
		return 0, false
	}
	wait := pauses[max(attempt, 1)-1]
	wait += time.Duration(jitter * 0.1 * float64(wait))
	return max(wait, min(retryAfter, maxRetryAfter)), true
}
