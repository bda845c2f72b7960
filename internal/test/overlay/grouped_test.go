package overlay_test

import (
	"testing"

	"example.com/orders/internal/test/overlay"
)

// A refactoring moves the text that the edit replaces.
func TestGrouped_ReplacesTextThatOccursOnce(t *testing.T) {
	t.Parallel()
	if _, err := overlay.Write(t.TempDir(), overlay.Grouped("../../..")); err != nil {
		t.Error(err)
	}
}
