//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// The pictures of the README: `make -C lab screenshot` renews them.
func TestScreenshot_OfThePlayground(t *testing.T) {
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		t.Skip("make -C lab screenshot says where the pictures go")
	}
	p := openPlayground(t)
	p.press(t, "kill")
	p.press(t, "lose")
	for _, scheme := range []string{"light", "dark"} {
		p.Do(t, chromedp.EmulateViewport(1280, 920), prefer(scheme))
		picture := Get(t, p.Tab, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join(folder, "play-"+scheme+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
