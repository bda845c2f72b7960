package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// placesText lists where the name stands for the service and not for its business.
//
//go:embed places.txt
var placesText string

// renamer renames a copy of the service.
type renamer struct {
	places  []place  // everywhere
	about   []place  // in the files about the service as well
	folders []string // of those files
}

// place is a spelling of the name, and texts around it.
type place struct {
	before, after []string
	from, to      string
}

func newRenamer(from, to name) (renamer, error) {
	var r renamer
	for line := range strings.Lines(placesText) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n")
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		if folders, begins := strings.CutPrefix(line, "in "); begins {
			r.folders = strings.Fields(folders)
			continue
		}
		p, err := parsePlace(line, from.spellings(), to.spellings())
		if err != nil {
			return renamer{}, err
		}
		if r.about = append(r.about, p); r.folders == nil {
			r.places = r.about
		}
	}
	return r, nil
}

// parsePlace reads a line such as cmd/|bin/‹kebab›.
func parsePlace(line string, from, to map[string]string) (place, error) {
	before, rest, _ := strings.Cut(line, "‹")
	spelling, after, _ := strings.Cut(rest, "›")
	spelling, isBusiness := strings.CutPrefix(spelling, "keep ")
	p := place{strings.Split(before, "|"), strings.Split(after, "|"), from[spelling], to[spelling]}
	if isBusiness {
		p.to = p.from
	}
	if p.from == "" {
		return place{}, fmt.Errorf("places.txt: %q names no spelling", line)
	}
	return p, nil
}

// renameFile renames the service in a file's text.
func (r renamer) renameFile(path, text string) string {
	isAbout := func(folder string) bool { return strings.HasPrefix(path, folder) }
	if slices.ContainsFunc(r.folders, isAbout) {
		return rename(text, r.about)
	}
	return rename(text, r.places)
}

// rename renames the service in a text. It reads the text once, because the new name may
// contain the old one.
func rename(text string, places []place) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		found := slices.IndexFunc(places, func(p place) bool {
			return strings.HasPrefix(text[i:], p.from) && p.surrounds(text[:i], text[i+len(p.from):])
		})
		if found < 0 {
			continue
		}
		out.WriteString(text[done:i] + places[found].to)
		done = i + len(places[found].from)
		i = done - 1
	}
	return out.String() + text[done:]
}

// surrounds reports whether a name between two texts stands in this place.
func (p place) surrounds(before, after string) bool {
	return slices.ContainsFunc(p.after, func(text string) bool { return begins(after, text) }) &&
		slices.ContainsFunc(p.before, func(text string) bool { return ends(before, text) })
}

// begins reports whether the text after a name begins as a place says.
func begins(after, with string) bool {
	switch with {
	case "":
		return after == "" || !isWord(after[0])
	case "…":
		return after != "" && isWord(after[0])
	default:
		return strings.HasPrefix(after, with)
	}
}

// ends reports whether the text before a name ends as a place says.
func ends(before, with string) bool {
	if with == "" {
		return before == "" || !isWord(before[len(before)-1])
	}
	begin, end, parted := strings.Cut(with, "…")
	if !parted {
		return strings.HasSuffix(before, with)
	}
	word := before[strings.LastIndexAny(before, " \t\n\"'`")+1:]
	return strings.Contains(word, begin) && strings.HasSuffix(word, end)
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
