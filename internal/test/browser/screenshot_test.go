//go:build browser

package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// The pictures of the README: `make screenshot` renews them.
func TestScreenshot_OfThePlayground(t *testing.T) {
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		t.Skip("make screenshot says where the pictures go")
	}
	p := openPlayground(t)
	p.press(t, "kill")
	p.press(t, "lose")
	for _, scheme := range []string{"light", "dark"} {
		p.Do(t, chromedp.EmulateViewport(1280, 920), prefer(scheme))
		picture := Get(t, p.Tab, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join(folder, "play-"+scheme+".png"), compress(t, picture), 0o644); err != nil { //nolint:gosec // for everybody
			t.Fatal(err)
		}
	}
}

// compress returns a picture with its 256 most frequent colours, which is a third of the size.
func compress(t *testing.T, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	small := image.NewPaletted(full.Bounds(), frequent(full))
	draw.Draw(small, small.Bounds(), full, image.Point{}, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// frequent returns the 256 most frequent colours of a picture.
func frequent(picture image.Image) color.Palette {
	counts := map[color.Color]int{}
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	colours := slices.Collect(maps.Keys(counts))
	slices.SortFunc(colours, func(a, b color.Color) int { return counts[b] - counts[a] })
	return colours[:min(256, len(colours))]
}
