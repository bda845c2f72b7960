package metrics_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// documented is what docs/metrics.md says of a family.
type documented struct {
	kind   string
	labels []string
	// ofDatabase reports that the figure comes from the database.
	ofDatabase bool
}

var row = regexp.MustCompile("^\\| `(orders_[a-z_]+)`( \\*)? \\| ([a-z]+) \\|([^|]*)\\|")

// readDocs returns the rows of the tables of metrics.
func readDocs(t testing.TB) map[string]documented {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]documented{}
	for line := range strings.Lines(string(text)) {
		match := row.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		d := documented{kind: match[3], ofDatabase: match[2] != ""}
		if names := strings.Trim(match[4], " `"); names != "" {
			d.labels = strings.Split(names, "`, `")
		}
		found[match[1]] = d
	}
	return found
}

// wantDocumented compares the documentation with what a replica exports when everything has
// happened to it.
func wantDocumented(t *testing.T, now scraped) {
	t.Helper()
	docs, labels := readDocs(t), now.labels()
	for family, kind := range now.types {
		d, found := docs[family]
		switch {
		case !found:
			t.Errorf("docs/metrics.md does not describe %s", family)
		case d.kind != kind || !slices.Equal(d.labels, labels[family]):
			t.Errorf("docs/metrics.md says that %s is a %s with the labels %v; it is a %s with %v", family, d.kind, d.labels, kind, labels[family])
		}
	}
	for family := range docs {
		if now.types[family] == "" {
			t.Errorf("docs/metrics.md describes %s, which the service does not export", family)
		}
	}
}

// Without its database, a replica reports everything else.
func TestMetrics_OfTheDatabaseAreAbsentWhileItIsDown(t *testing.T) {
	t.Parallel()
	f, docs := start(t), readDocs(t)
	e2e.Eventually(t, "reconciliation has ended", func() bool {
		_, present := scrape(t, f.admin).value("orders_reconciliation_age_seconds")
		return present
	})
	with := scrape(t, f.admin)
	stopDatabase(t, f)
	e2e.Eventually(t, "the database is down", func() bool {
		up, present := scrape(t, f.admin).value("orders_database_up")
		return present && up == 0
	})
	without := scrape(t, f.admin)
	for family := range with.types {
		if present := without.types[family] != ""; present == docs[family].ofDatabase {
			t.Errorf("%s is present: %t; docs/metrics.md says that it comes from the database: %t", family, present, docs[family].ofDatabase)
		}
	}
}
