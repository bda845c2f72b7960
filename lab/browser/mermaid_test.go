//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rendered is what Mermaid makes of a diagram.
type rendered struct {
	Error string
	// Shapes counts the shapes and texts of the picture.
	Shapes int
}

// renderAll renders the diagrams in args one after the other.
const renderAll = `
	await new Promise((done, failed) => {
		const script = document.createElement('script');
		Object.assign(script, {src: '/node_modules/mermaid/dist/mermaid.min.js', onload: done, onerror: failed});
		document.head.append(script);
	});
	mermaid.initialize({startOnLoad: false});
	const results = [];
	for (const [i, diagram] of args.entries()) {
		try {
			const {svg} = await mermaid.render('diagram' + i, diagram);
			const picture = new DOMParser().parseFromString(svg, 'text/html');
			results.push({shapes: picture.querySelectorAll('path, rect, line, text, foreignObject').length});
		} catch (e) {
			results.push({error: String(e)});
		}
	}
	return results;`

var diagram = regexp.MustCompile("(?s)```mermaid\n(.*?)```")

func TestDiagrams_OfTheDocumentsRender(t *testing.T) {
	var diagrams, places []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, diagram := range diagram.FindAllStringSubmatch(string(text), -1) {
				diagrams = append(diagrams, diagram[1])
				places = append(places, page+": "+strings.TrimSpace(diagram[1][:min(60, len(diagram[1]))]))
			}
		}
	}
	if len(diagrams) < 2 {
		t.Fatalf("found %d diagrams only", len(diagrams))
	}

	for i, result := range Run[[]rendered](t, NewPage(t), renderAll, diagrams) {
		if result.Error != "" || result.Shapes < 3 {
			t.Errorf("%s: %d shapes, %s", places[i], result.Shapes, result.Error)
		}
	}
}
