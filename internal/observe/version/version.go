// Package version identifies the build.
package version

import (
	"runtime"
	"runtime/debug"
)

// Number is the last release's version; see the changelog.
const Number = "0.1.0"

// Info identifies a build.
type Info struct {
	// Number is the version of this or the previous release.
	Number string
	// Revision is the commit, with "-modified" if files had changed, and "unknown" for
	// a build outside a repository.
	Revision string
	// Go is the Go version.
	Go string
}

// Get returns this build.
func Get() Info {
	info := Info{Number: Number, Revision: "unknown", Go: runtime.Version()}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	modified := false
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Revision = setting.Value
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if modified {
		info.Revision += "-modified"
	}
	return info
}

// String formats the build as "0.1.0 (1b2c3d4, go1.26.1)".
func (i Info) String() string {
	return i.Number + " (" + i.Revision + ", " + i.Go + ")"
}
