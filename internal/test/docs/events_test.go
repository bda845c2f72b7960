package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// eventsPage describes the published events by the schemas in api/asyncapi.yaml.
func eventsPage(t *testing.T) string {
	t.Helper()
	page := beginPage("Events", "api/asyncapi.yaml", `
What the service publishes on NATS JetStream, at least once: `+"`source` and `id`"+` identify an event, and its
consumers remember those that they have processed. Each is a CloudEvents 1.0 envelope in JSON, and its subject
in the broker is `+"`orders.events.`"+` and the type.
[asyncapi.yaml](../api/asyncapi.yaml) has the schemas, and the messages that the service consumes;
[Operate](operate.md#events) explains how events leave, also without NATS.
`)
	api := readAsyncAPI(t)
	for _, name := range api.sent() {
		e := api.Components.Schemas[name].Properties
		title := strings.TrimSuffix(name, "Event") + " events"
		fmt.Fprintf(page, "\n## %s\n", title)
		writeHead(page, "type", "when")
		for _, kind := range e["type"].OneOf {
			writeRow(page, "`"+kind.Const+"`", strings.Join(strings.Fields(kind.Description), " "))
		}
		data := api.resolve(e["data"])
		writeHead(page, "member of `data`", "value")
		for _, member := range data.Required {
			writeRow(page, "`"+member+"`", describeValue(api.resolve(data.Properties[member])))
		}
	}
	return page.String()
}

type asyncAPI struct {
	Operations yaml.Node
	Components struct {
		Schemas map[string]asyncSchema
	}
}

type asyncSchema struct {
	Ref                string `yaml:"$ref"`
	Type               string
	Const, Description string
	Enum               []string
	Required           []string
	OneOf              []asyncSchema `yaml:"oneOf"`
	Properties         map[string]asyncSchema
}

func readAsyncAPI(t *testing.T) (api asyncAPI) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "api", "asyncapi.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &api)
	}
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// sent returns the schemas of the events that the service sends, in the order of the operations.
func (a asyncAPI) sent() (names []string) {
	for i := 0; i+1 < len(a.Operations.Content); i += 2 {
		if name, found := strings.CutPrefix(a.Operations.Content[i].Value, "publish"); found {
			names = append(names, name)
		}
	}
	return names
}

func (a asyncAPI) resolve(s asyncSchema) asyncSchema {
	if s.Ref == "" {
		return s
	}
	return a.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
}

// describeValue returns a schema in words.
func describeValue(s asyncSchema) string {
	about := strings.Join(strings.Fields(s.Description), " ")
	switch {
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case about != "":
		return s.Type + ": " + about
	}
	return s.Type
}
