package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// renamer changes texts when a service gets another name.
type renamer struct {
	// marks replace each spelling of the old name, where it stands for the service, with a
	// mark. Equal business words stay: a table, a route, a variable.
	marks []mark
	// names replaces the marks with the new name, in a separate step because the new name may
	// contain the old one.
	names *strings.Replacer
	// remaining is the old name wherever it is left in a file that is only about the service.
	remaining mark
}

type mark struct {
	pattern *regexp.Regexp
	to      string
}

// newRenamer returns a renamer. In a pattern, ‹› is the name, and the text around it is kept.
func newRenamer(from, to name) renamer {
	var marks []mark
	var names []string
	add := func(spelling func(name) string, patterns ...string) {
		m := fmt.Sprintf("\x00%d\x00", len(names))
		for _, pattern := range patterns {
			before, after, _ := strings.Cut(pattern, "‹›")
			expr := "(?m)(" + before + ")" + regexp.QuoteMeta(spelling(from)) + "(" + after + ")"
			marks = append(marks, mark{regexp.MustCompile(expr), "${1}" + m + "${2}"})
		}
		names = append(names, m, spelling(to))
	}
	add(func(n name) string { return n.module }, `\b‹›\b`)
	add(func(n name) string { return n.upper }, `\b‹›(?:_|\b)`)
	add(func(n name) string { return n.header }, `\b‹›-`)
	add(func(n name) string { return n.camel }, `\bBuild‹›(?:Dev)?\b`)
	add(func(n name) string { return n.title }, `^  title: ‹›$`, `^    name: ‹›$`, `v5emb\.New\("‹›"`)
	add(func(n name) string { return n.snake },
		// roles, metrics, metadata at the card provider
		`\b‹›_(?:app|service|owner|extra|payment|refund)\b`,
		`\b‹›_(?:database|reconciliation|webhooks|limited|outbox)_`,
		// databases
		`postgres(?:ql)?://[^\s"'`+"`"+`]*/‹›\b`, `dbname=‹›\b`, `^    ‹› = host=`, `CREATE DATABASE ‹›\b`, `\bconst database = "‹›"`, `Database += "‹›"`,
	)
	add(func(n name) string { return n.kebab },
		// commands, their folders and their data
		`\b(?:cmd|bin)/‹›\b`, `commands \+ "/‹›/`, `-o ‹› `, `\bbuild\(t, "‹›"`, `Dir\(\), "‹›"`, `\(dir, "‹›"`,
		`\b‹›-`, "(?:^|[ \"'`/])\\.‹›[ \"'`/.]",
		`\b‹› (?:serve|migrate|config|health|version|help|COMMAND)\b`, `\b‹› is (?:an order|running|the order)`, `Fprintln\((?:problems|out), "‹›`, `"‹›: `, `out: "‹› `, `\b‹› %s takes`, `\b‹› "\+c\.name`,
		// names in other systems
		`\b‹›\.(?:events|dlq|example|localhost)\b`, `\b‹›\\\.example`,
		`[Aa]udience(?::| +=) *"?‹›\b`, `"aud": "‹›"`, `_AUDIENCE=‹›\b`, `audiences: \[‹›\]`, `domain: ‹›\b`,
		`"resource_access": \{"‹›"`,
		`client\.Name\("‹›"`, `"application_name", "‹›"`, `serviceActor = "‹›"`, `pg_logical_emit_message\(true, '‹›'`,
		`sourcePrefix = "/‹›/"`, `/‹›/[0-9a-f]{8}-`, `pattern: .\^/‹›/`,
		// headings
		`^# ‹›$`, `^# Running ‹›$`, `\[Running ‹›\]`, "^`‹›`: set",
	)
	// The last mark is the name with hyphens.
	remaining := mark{regexp.MustCompile(`\b` + regexp.QuoteMeta(from.kebab) + `\b`), names[len(names)-2]}
	return renamer{marks, strings.NewReplacer(names...), remaining}
}

// aboutTheService are the files in which the name never stands for the business.
var aboutTheService = []string{
	"deploy/Containerfile", "deploy/compose.yaml", "deploy/.env.example", "deploy/postgres/", "deploy/kubernetes/",
	"lab/deploy/",
}

// renameFile renames the service in a file's text.
func (r renamer) renameFile(path, text string) string {
	if slices.ContainsFunc(aboutTheService, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
		return r.names.Replace(r.remaining.pattern.ReplaceAllString(r.mark(text), r.remaining.to))
	}
	return r.rename(text)
}

func (r renamer) rename(text string) string { return r.names.Replace(r.mark(text)) }

// mark replaces the old name with marks, where it stands for the service.
func (r renamer) mark(text string) string {
	for _, m := range r.marks {
		text = m.pattern.ReplaceAllString(text, m.to)
	}
	return text
}
