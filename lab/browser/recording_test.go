//go:build browser

package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// maxRecording bounds a recording, in bytes.
const maxRecording = 500_000

// The README's recordings: `make -C lab screenshot` renews them.
func TestRecording_OfThePlayground(t *testing.T) {
	folder := os.Getenv("RECORDINGS")
	if folder == "" {
		t.Skip("make -C lab screenshot says where the recordings go")
	}
	r := recording{openPlayground(t), t.TempDir(), map[string][]string{}}
	r.Do(t, chromedp.EmulateViewport(400, 614, chromedp.EmulateScale(2)), chromedp.Evaluate[chromedp.Void](prepare))

	r.loseResponse(t, pace{"fault": 1200, "sent": 200, "attempt": 1500, "note": 1300, "state": 2200})
	r.wantMoved(t, 1, "once")
	r.Do(t, chromedp.Click("[name=guard][value=off]"))
	r.play(t, nil)
	r.loseResponse(t, pace{"sent": 200, "attempt": 1000, "state": 3500})
	r.wantMoved(t, 2, "twice")

	for scheme := range r.frames {
		r.write(t, scheme, filepath.Join(folder, "play-"+scheme+".webp"))
	}
}

// prepare crops the page to the parts that the recording shows, and makes the page wait
// before each line of a scenario until the recording calls next.show.
const prepare = `
	const crop = new CSSStyleSheet();
	crop.replaceSync('nav, .empty, .controls li:nth-child(n+4) { display: none } main .story { height: 23.5rem }');
	document.adoptedStyleSheets.push(crop);
	const send = window.fetch;
	window.fetch = async (...request) => {
		const lines = (await (await send(...request)).text()).match(/.+/g);
		return new Response(new ReadableStream({pull: stream => new Promise(done => {
			const line = JSON.parse(lines[0] ?? '{"kind": "end"}');
			window.next = {kind: line.attempt?.pending ? 'sent' : line.kind, show() {
				window.next = null;
				line.kind === 'end' ? stream.close() : stream.enqueue(new TextEncoder().encode(lines.shift() + '\n'));
				done();
			}};
		})}, {highWaterMark: 0}));
	};`

// recording is a story in the playground.
type recording struct {
	playground
	folder string
	frames map[string][]string // by scheme: the arguments of img2webp
}

// pace has the milliseconds for a frame after each kind of line. Other lines have no frame.
type pace map[string]int

// loseResponse records a press, and then the lines that follow.
func (r recording) loseResponse(t *testing.T, p pace) {
	t.Helper()
	r.Do(t, chromedp.Focus("[data-scenario=new]"), chromedp.KeyEvent(kb.Tab)) // shows the focus
	r.show(t, 1000)
	r.Do(t, chromedp.KeyEvent(kb.Enter))
	r.play(t, p)
}

// play shows a scenario line by line, and adds a frame for those that pace has.
func (r recording) play(t *testing.T, p pace) {
	t.Helper()
	for kind := r.next(t); kind != "end"; kind = r.next(t) {
		Eval[chromedp.Void](t, r.Tab, "next.show()")
		r.next(t) // the page asks for it when it has shown this one
		if p[kind] > 0 {
			r.show(t, p[kind])
		}
	}
	Eval[chromedp.Void](t, r.Tab, "next.show()")
	r.awaitReady(t)
}

// next waits until the page asks for a line, and returns the line's kind.
func (r recording) next(t *testing.T) string {
	t.Helper()
	r.Await(t, "window.next")
	return Eval[string](t, r.Tab, "return next.kind")
}

// show adds a frame to each scheme's recording.
func (r recording) show(t *testing.T, milliseconds int) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		r.Do(t, prefer(scheme))
		name := filepath.Join(r.folder, fmt.Sprintf("%s-%d.png", scheme, len(r.frames[scheme])))
		if err := os.WriteFile(name, Get(t, r.Tab, chromedp.CaptureScreenshot()), 0o600); err != nil {
			t.Fatal(err)
		}
		r.frames[scheme] = append(r.frames[scheme], "-d", strconv.Itoa(milliseconds), name)
	}
}

// write encodes the frames of a scheme. The story is shown three times, and then the last
// frame stays.
func (r recording) write(t *testing.T, scheme, name string) {
	t.Helper()
	arguments := append([]string{"-min_size", "-loop", "3", "-o", name}, r.frames[scheme]...)
	if out, err := exec.CommandContext(t.Context(), "img2webp", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > maxRecording {
		t.Errorf("%s has %d bytes, at most %d", name, file.Size(), maxRecording)
	}
}
