package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// checkDashboard fails if the schema of Grafana does not know a member of the dashboard, or
// misses one.
func checkDashboard(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	plugins.RegisterDefaultPlugins() // the schemas of panels and of queries
	var d dashboard.Dashboard
	if err := d.UnmarshalJSONStrict(text); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := d.Validate(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
