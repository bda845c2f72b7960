package docs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// checks compare a page with the repository. Each returns what the page names and does not
// exist.
var checks = map[string]func(*repository, Page) []string{
	"links": brokenLinks, "paths": missingFiles, "excerpts": changedExcerpts, "names": unknownNames, "tests": missingTests,
	"make": missingTargets, "settings": unknownSettings, "routes": unknownRoutes, "codes": unknownCodes,
}

func TestPages_NameOnlyWhatExists(t *testing.T) {
	t.Parallel()
	r := mustReadRepository(t)
	for _, p := range Pages(t) {
		for name, check := range checks {
			for _, finding := range check(r, p) {
				t.Errorf("%s (%s): %s", p.Path, name, finding)
			}
		}
	}
}

// linkByName is a link to a name that no line defines: such a link stays text.
var linkByName = regexp.MustCompile(`\]\[([^\]]+)\]`)

// brokenLinks follows every relative link, into the page that it leads to.
func brokenLinks(r *repository, p Page) (findings []string) {
	read := p.read()
	for _, match := range linkByName.FindAllStringSubmatch(read.prose, -1) {
		findings = append(findings, "no link is called "+match[1])
	}
	for _, target := range read.links {
		if finding := r.follow(p, target); finding != "" {
			findings = append(findings, finding)
		}
	}
	return findings
}

// follow returns what is wrong with a link, or nothing.
func (r *repository) follow(p Page, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	to := p
	if file != "" {
		to.Path = path.Join(path.Dir(p.Path), file)
		if strings.HasPrefix(file, "/") || !r.files[to.Path] {
			return "links to " + target + ", which does not exist"
		}
	}
	if !hasAnchor {
		return ""
	}
	if file != "" && path.Ext(file) == ".md" {
		to = pageAt(to.Path)
	}
	if path.Ext(to.Path) != ".md" || !to.read().anchors[anchor] {
		return "links to " + target + ", and there is no such heading"
	}
	return ""
}

var (
	filePath = regexp.MustCompile(`^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*/?$`)
	fileName = regexp.MustCompile(`\.(go|pml|mod|sum|sql|ya?ml|md|txt|json|ts|m?js|svg|webp|html|css|toml)$`)
)

// missingFiles checks paths in backquotes. They are relative to the root, to internal as
// in lab/evidence.md, or to the page. A name without a folder is that of some file.
func missingFiles(r *repository, p Page) (findings []string) {
	for _, name := range p.read().spans {
		first, _, hasFolder := strings.Cut(name, "/")
		isFile := fileName.MatchString(name)
		switch {
		case !filePath.MatchString(name), strings.Contains(name, "NNNN"): // a placeholder
			continue
		case !hasFolder && isFile && !r.hasName(name),
			hasFolder && (isFile || r.hasFile(first, "internal")) && !r.hasFile(name, "internal", path.Dir(p.Path)):
			findings = append(findings, "names "+name+", which does not exist")
		}
	}
	return findings
}

// hasName reports whether a file has the name, in any folder.
func (r *repository) hasName(name string) bool {
	for file := range r.files {
		if path.Base(file) == name {
			return true
		}
	}
	return false
}

// changedExcerpts compares code that names a file in a folder with the file, except for
// indentation.
func changedExcerpts(_ *repository, p Page) (findings []string) {
	for _, b := range p.read().blocks {
		if strings.Contains(b.file, "/") && !strings.Contains(unindented(pageAt(b.file).Text), unindented(b.text)) {
			findings = append(findings, b.file+" has no such lines")
		}
	}
	return findings
}

var indentation = regexp.MustCompile(`(?m)^[ \t]+`)

func unindented(code string) string { return indentation.ReplaceAllString(code, "") }

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	selector   = regexp.MustCompile(`^\*?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)$`)
	arguments  = regexp.MustCompile(`\(.*\)$`)
)

// foreign are words of other programs, which our sources do not contain.
var foreign = []string{
	"PGSERVICE", "taskset", "pg_dump", "orders_owner", "clientAuth", // an environment, a command, an example, a configuration
	"decodeX",                                                // a placeholder
	"SERIALIZABLE", "pg_try_advisory_lock", "db.Transaction", // PostgreSQL, an ORM
	// The service that docs/guard.md makes.
	"TICKETS", "TICKETS_ADDR", "tickets_database_up", "tickets_app", "tickets_service", "tickets.example.com",
}

// unknownNames checks identifiers in backquotes: operations, columns, metrics and names of
// Go occur in the sources or in the code of the page, and a name of Go with its package or
// type is declared in the sources.
func unknownNames(r *repository, p Page) (findings []string) {
	read, own := p.read(), names{}
	for _, b := range read.blocks {
		own.add(word.FindAllString(b.text, -1)...)
	}
	for _, name := range read.spans {
		name = arguments.ReplaceAllString(name, "")
		if slices.Contains(foreign, name) {
			continue
		}
		switch {
		case identifier.MatchString(name) && !r.words[name] && !own[name] && !setting.MatchString(name):
			findings = append(findings, name+" does not occur in the sources")
		case selector.MatchString(name) && !fileName.MatchString(name) && !r.declares(name):
			findings = append(findings, name+" is not declared")
		}
	}
	return findings
}

// declares reports whether pkg.Name or Type.Member is declared, or is the name of something
// else, such as an event. It knows nothing about packages of others.
func (r *repository) declares(name string) bool {
	parts := strings.Split(strings.TrimPrefix(name, "*"), ".")
	for i := range len(parts) - 1 {
		inPackage, isPackage := r.packages[parts[i]]
		inType, isType := r.members[strings.ToLower(parts[i])]
		if (isPackage || isType) && !inPackage[parts[i+1]] && !inType[parts[i+1]] {
			return strings.Contains(r.source, name)
		}
	}
	return true
}

var namedTest = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`)

// missingTests checks that a name of a test is exactly that of one.
func missingTests(r *repository, p Page) (findings []string) {
	for _, name := range p.read().spans {
		name, _, _ = strings.Cut(name, "/")
		if namedTest.MatchString(name) && r.testFiles[name] == nil {
			findings = append(findings, name+" is no test")
		}
	}
	return findings
}

var makeCommand = regexp.MustCompile(`^make (-C lab )?(?:[A-Z]+=\S+ )*([a-z][a-z-]*)`)

func missingTargets(r *repository, p Page) (findings []string) {
	for _, line := range p.read().code() {
		for _, match := range makeCommand.FindAllStringSubmatch(line, 1) {
			if name := match[1] + match[2]; !r.targets[name] {
				findings = append(findings, "make "+name+" is no target")
			}
		}
	}
	return findings
}

var setting = regexp.MustCompile(`\b(?:ORDERS_)[A-Z_]+`)

// unknownSettings checks every ORDERS_…; one that ends in an underscore is a prefix. A
// stream has such a name, too: it is a string of its own in the sources.
func unknownSettings(r *repository, p Page) (findings []string) {
	for _, name := range setting.FindAllString(p.Text, -1) {
		isPrefix := strings.HasSuffix(name, "_") && strings.Contains(r.source, name)
		if !r.settings[name] && !isPrefix && !r.quotes(name) {
			findings = append(findings, name+" is no setting")
		}
	}
	return findings
}

// quotes reports whether a source has a name in quotes, as what reads a variable does.
func (r *repository) quotes(name string) bool {
	return strings.Contains(r.source, `"`+name+`"`) || strings.Contains(r.source, `'`+name+`'`)
}

// ofOtherServices are pages whose routes are those of a service that the reader makes.
var ofOtherServices = []string{"docs/guard.md", "kit/guard/README.md"}

var (
	operation = regexp.MustCompile(`\b(GET|POST|PUT|PATCH|DELETE) (/[^\s"'` + "`" + `?]*)`)
	curled    = regexp.MustCompile(`(?:\$ORDERS|http://127\.0\.0\.1:8080)(/[\w/{}.$-]*)`)
	curlX     = regexp.MustCompile(`-X (\w+)`)
	barePath  = regexp.MustCompile(`^/[a-z][\w/{}.-]*$`)
)

// unknownRoutes checks operations, commands of curl, and paths in backquotes, but no excerpts of
// pages about other services.
func unknownRoutes(r *repository, p Page) (findings []string) {
	if slices.Contains(ofOtherServices, p.Path) {
		return nil
	}
	read := p.read()
	read.blocks = slices.DeleteFunc(read.blocks, func(b block) bool { return slices.Contains(ofOtherServices, b.file) })
	report := func(method, target string) {
		if !r.serves(method, target) {
			findings = append(findings, strings.TrimSpace(method+" "+target)+" is not in the contract")
		}
	}
	for _, line := range read.code() {
		for _, match := range operation.FindAllStringSubmatch(line, -1) {
			report(match[1], match[2])
		}
		for _, match := range curled.FindAllStringSubmatch(line, -1) {
			method := "GET"
			if option := curlX.FindStringSubmatch(line); option != nil {
				method = option[1]
			}
			report(method, match[1])
		}
	}
	for _, name := range read.spans {
		if barePath.MatchString(name) {
			report("", name)
		}
	}
	return findings
}

var codeOfStatus = regexp.MustCompile("\\b([45]\\d\\d)\\s+`([a-z_]+)`")

// unknownCodes checks "409 `code`".
func unknownCodes(r *repository, p Page) (findings []string) {
	for _, match := range codeOfStatus.FindAllStringSubmatch(p.read().prose, -1) {
		if status := strconv.Itoa(r.statuses[match[2]]); status != match[1] {
			findings = append(findings, fmt.Sprintf("%s has no code %s", match[1], match[2]))
		}
	}
	return findings
}
