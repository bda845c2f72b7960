package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/orders/internal/config"
)

// configurationPage describes the settings by the comments of [config.Config], and by the
// errors with which [config.Read] refuses other values.
func configurationPage(t *testing.T) string {
	t.Helper()
	page := beginPage("Configuration", "internal/config/config.go", `
All settings are environment variables. The process checks them when it starts and reports every
problem at once. An empty variable means the default. A variable that begins with `+"`ORDERS_`"+` and is no
setting is refused because it is probably mistyped, and so is a value in quotes. `+"`orders config`"+`
prints the settings in force, without secrets. [Operate](operate.md) explains how they work together.

The settings marked with * may contain secrets. Each can be in a file instead, as container platforms mount
them: `+"`ORDERS_DATABASE_URL_FILE`"+` names the file with `+"`ORDERS_DATABASE_URL`"+`, and so on. A newline at its
end does not count.

`)
	writeHead(page, "variable", "meaning", "default", "must be")
	comments := fieldComments(t)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		name, option, _ := strings.Cut(field.Tag.Get("env"), ",")
		byDefault := field.Tag.Get("envDefault")
		switch {
		case byDefault != "":
			byDefault = "`" + byDefault + "`"
		case refusal(name, "") != "":
			byDefault = "required"
		}
		mark := ""
		if option == "unset" {
			mark = " *"
		}
		writeRow(page, "`"+name+"`"+mark, meaning(t, field.Name, comments[field.Name]), byDefault, requirement(name))
	}
	return page.String()
}

// fieldComments returns the comment of each field of [config.Config].
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "config", "config.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		if field, ok := node.(*ast.Field); ok && field.Doc != nil {
			comments[field.Names[0].Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
		return true
	})
	return comments
}

// meaning returns a comment without the name with which it begins: "Addr is the listener."
// becomes "The listener."
func meaning(t *testing.T, field, comment string) string {
	t.Helper()
	text, found := strings.CutPrefix(comment, field+" ")
	if !found {
		t.Errorf("the comment of config.Config.%s does not begin with its name", field)
		return ""
	}
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// requirement returns what a value must be, as the error says that refuses a wrong one.
func requirement(name string) string {
	for _, wrong := range []string{"", "?", "-1"} {
		if text := refusal(name, wrong); text != "" {
			return strings.TrimPrefix(text, "be ")
		}
	}
	return ""
}

// refusal returns what must hold of a variable that has a wrong value, or nothing.
func refusal(name, value string) string {
	_, err := config.Read([]string{name + "=" + value})
	for line := range strings.Lines(err.Error()) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), name+" must "); found {
			return text
		}
	}
	return ""
}
