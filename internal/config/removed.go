package config

import (
	"fmt"
	"strings"
)

// removed are the former settings, and what holds now. An installation that sets one
// relies on it.
var removed = map[string]string{
	"ORDERS_DATABASE_STANDBY_URL":       "the primary serves all reads",
	"ORDERS_DATABASE_STANDBY_STALENESS": "the primary serves all reads",
}

// removedSetting returns an error if the name is that of a former setting.
func removedSetting(name string) error {
	now, was := removed[strings.TrimSuffix(name, fileSuffix)]
	if !was {
		return nil
	}
	return fmt.Errorf("%s was removed: %s", name, now)
}
