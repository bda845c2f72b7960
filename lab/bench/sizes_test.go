package main

import (
	"strings"
	"testing"
)

// Of 100 requests, each adds 3 bytes to the table, 2 to its indexes, and nothing elsewhere.
func TestSizesText_DividesGrowthByRequests(t *testing.T) {
	t.Parallel()
	size := func(table, indexes int64) storage {
		return storage{"outbox": {table, indexes}, "product": {500, 500}}
	}
	text := sizesText("", []growthOf{
		{command: "CreateOrder", requests: 100, before: size(1000, 1000), after: size(1300, 1200)},
	})
	for _, line := range []string{
		"| CreateOrder | 100 | `outbox` | 3 | 2 |\n", "| **CreateOrder** | | **all** | **3** | **2** |\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no line %q in:\n%s", line, text)
		}
	}
	if strings.Contains(text, "`product`") {
		t.Errorf("a table that does not grow is listed:\n%s", text)
	}
}
