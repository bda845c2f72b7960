//go:build browser

package browser

import (
	"strings"
	"testing"

	"example.com/orders/internal/test/docs"
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

func TestDiagrams_OfTheDocumentsRender(t *testing.T) {
	var diagrams, places []string
	for _, page := range docs.Pages(t) {
		for _, diagram := range page.Diagrams() {
			diagrams = append(diagrams, diagram)
			places = append(places, page.Path+": "+strings.TrimSpace(diagram[:min(60, len(diagram))]))
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

func TestDiagrams_ThatAreBrokenAreFound(t *testing.T) {
	broken := []string{
		"flowchart LR\n  a --> ",
		"flowcart LR\n  a --> b",
		"sequenceDiagram\n  client->>service POST /orders",
		"stateDiagram-v2\n  [*] --> paid\n  state paid {",
		"",
	}

	for i, result := range Run[[]rendered](t, NewPage(t), renderAll, broken) {
		if result.Error == "" && result.Shapes >= 3 {
			t.Errorf("%q renders: %+v", broken[i], result)
		}
	}
}
