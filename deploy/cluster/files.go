// Package cluster holds the configuration of each kind of node of a cluster, as templates
// (text/template). See docs/operate.md.
package cluster

import "embed"

// Files are the templates, by the names of the programs that read them.
//
//go:embed *.tmpl
var Files embed.FS
