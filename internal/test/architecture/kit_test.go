package architecture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKit_HasADoorToEachFolder(t *testing.T) {
	t.Parallel()
	page := mustRead(t, "kit/README.md")
	folders, err := os.ReadDir(filepath.Join(root, "kit"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if name := folder.Name(); folder.IsDir() && !strings.Contains(page, "\n| ["+name+"]("+name+"/") {
			t.Errorf("kit/README.md has no door to %s", name)
		}
	}
}
