package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// checkDashboard fails if Grafana's schema does not know a member of the dashboard, or
// requires a missing one.
func checkDashboard(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	plugins.RegisterDefaultPlugins() // the schemas for panels and queries
	var d dashboard.Dashboard
	if err := d.UnmarshalJSONStrict(text); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := d.Validate(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
