// Package version reports which build of the service this is.
package version

import (
	"runtime"
	"runtime/debug"
)

// Number is the version of the last release. The changelog describes it.
const Number = "0.1.0"

// Info identifies a build.
type Info struct {
	// Number is the version of the release that the build is of, or comes after.
	Number string
	// Revision is the commit, with "-modified" if files had changed, and "unknown" if the
	// build was not made in a repository.
	Revision string
	// Go is the version of Go that built it.
	Go string
}

// Get returns what identifies this build.
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

// String returns the build as people write it, such as "0.1.0 (1b2c3d4, go1.26.1)".
func (i Info) String() string {
	return i.Number + " (" + i.Revision + ", " + i.Go + ")"
}
