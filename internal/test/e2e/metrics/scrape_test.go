package metrics_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// scraped is what Prometheus reads from a process.
type scraped struct {
	text string
	// values are the samples by series, as they are written: name{label="value"}.
	values map[string]float64
	// families are the families of the service.
	families map[string]bool
}

// scrape reads the metrics of a process. It must be complete: what cannot be read is no
// reason for an error.
func scrape(t testing.TB, adminAddr string) scraped {
	t.Helper()
	status, text := e2e.Fetch(t, "http://"+adminAddr+"/metrics")
	if status != http.StatusOK || !strings.Contains(text, "process_open_fds ") {
		t.Fatalf("metrics: status %d: %s", status, text)
	}
	s := scraped{text: text, values: map[string]float64{}, families: map[string]bool{}}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# TYPE orders_"):
			s.families[fields[2]] = true
		case strings.HasPrefix(line, "orders_"):
			space := strings.LastIndex(line, " ") // labels may have spaces
			number, err := strconv.ParseFloat(strings.TrimSpace(line[space:]), 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			s.values[line[:space]] = number
		}
	}
	return s
}

// value returns the value of a series. A name without labels is the sum of its series.
func (s scraped) value(series string) (sum float64, present bool) {
	for name, value := range s.values {
		if name == series || strings.HasPrefix(name, series+"{") {
			sum, present = sum+value, true
		}
	}
	return sum, present
}

var suffixes = regexp.MustCompile(`_(bucket|sum|count)$`)

// family returns the family of a series.
func (s scraped) family(series string) string {
	name, _, _ := strings.Cut(series, "{")
	if !s.families[name] {
		name = suffixes.ReplaceAllString(name, "")
	}
	return name
}
