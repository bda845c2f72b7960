package metrics_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
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
	// types are the types of the families of the service.
	types map[string]string
}

// scrape reads the metrics of a process. It must be complete: what cannot be read is no
// reason for an error.
func scrape(t testing.TB, adminAddr string) scraped {
	t.Helper()
	status, text := e2e.Fetch(t, "http://"+adminAddr+"/metrics")
	if status != http.StatusOK || !strings.Contains(text, "process_open_fds ") {
		t.Fatalf("metrics: status %d: %s", status, text)
	}
	s := scraped{text: text, values: map[string]float64{}, types: map[string]string{}}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# TYPE orders_"):
			s.types[fields[2]] = fields[3]
		case strings.HasPrefix(line, "orders_"):
			series, value, _ := cutLast(strings.TrimSpace(line), " ")
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			s.values[series] = number
		}
	}
	return s
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	return s[:max(i, 0)], s[i+1:], i >= 0
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
	if s.types[name] == "" {
		name = suffixes.ReplaceAllString(name, "")
	}
	return name
}

var label = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)

// labels returns the names of the labels of each family, without that of buckets.
func (s scraped) labels() map[string][]string {
	sets := map[string]map[string]bool{}
	for series := range s.values {
		family := s.family(series)
		if sets[family] == nil {
			sets[family] = map[string]bool{}
		}
		for _, match := range label.FindAllStringSubmatch(series, -1) {
			if match[1] != "le" {
				sets[family][match[1]] = true
			}
		}
	}
	names := map[string][]string{}
	for family, set := range sets {
		names[family] = slices.Sorted(maps.Keys(set))
	}
	return names
}

// labelValues returns the values of a label of a family.
func (s scraped) labelValues(family, name string) []string {
	var values []string
	for series := range s.values {
		if s.family(series) != family {
			continue
		}
		for _, match := range label.FindAllStringSubmatch(series, -1) {
			if match[1] == name {
				values = append(values, match[2])
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
