package upgrade

import (
	"fmt"
	"regexp"
	"slices"

	"golang.org/x/mod/semver"
)

// Lines in a migration that admit a finding:
//
//	-- contracts: orders.total, unused since 0.2.0
//	-- accepts: orders_status_check, it only adds the status returned
//
// A contracted object was given up by a released version, so that the old version is that one
// or a later one. An accepted object refuses no version's writes.
const (
	contracts = "contracts"
	accepts   = "accepts"
)

var (
	admission = regexp.MustCompile(`(?m)^-- (contracts|accepts): ([^,\s]+), (.+)$`)
	since     = regexp.MustCompile(`\bsince (\d+\.\d+\.\d+)$`)
)

// admit returns the findings that no line admits, and the errors in the lines.
func admit(migration, released string, found []Finding) (wrong []string) {
	for _, line := range admission.FindAllStringSubmatch(migration, -1) {
		header, name, reason := line[1], line[2], line[3]
		left := slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return f.header == header && f.Object == name })
		if len(left) == len(found) {
			wrong = append(wrong, fmt.Sprintf("the line %q admits nothing", line[0]))
		}
		found = left
		version := since.FindStringSubmatch(reason)
		switch {
		case header == contracts && version == nil:
			wrong = append(wrong, fmt.Sprintf("the line %q must end with: since VERSION", line[0]))
		case header == contracts && semver.Compare("v"+version[1], "v"+released) > 0:
			wrong = append(wrong, fmt.Sprintf("%s must wait until version %s is released", name, version[1]))
		}
	}
	for _, f := range found {
		wrong = append(wrong, f.Text)
	}
	return wrong
}
