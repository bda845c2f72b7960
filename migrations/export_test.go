package migrations

import (
	"context"
	"io/fs"
	"time"
)

// UpFrom is [Up] for our schema alone, with other files.
func UpFrom(ctx context.Context, files fs.FS, databaseURL string) error {
	return run(ctx, files, databaseURL, up)
}

// Again calls run as a migration does, tries times and without a pause.
func Again(tries int, run func() error) error { return retryLocked(nil, tries, time.Nanosecond, run) }
