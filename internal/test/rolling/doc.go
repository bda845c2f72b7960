// Package rolling upgrades the three replicas of a cluster one after the other, while clients
// work, to a version with another schema. Its test has the build tag cluster, because it
// takes minutes and the programs of a cluster: `make rolling-upgrade` runs it.
package rolling
