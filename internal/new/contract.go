package main

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The contract, and the fragment that replaces its operations in the copy without the business.
const (
	contract = "api/openapi.yaml"
	fragment = "api/fragment.yaml"
)

// filterContract leaves keptPaths in the contract and adds the fragment. It removes business
// codes and unreferenced components. It returns the names of the operations and codes that are gone.
func (t tree) filterContract(added []byte, codes []string) ([]string, error) {
	doc, err := parseYAML(t[contract].data)
	if err != nil {
		return nil, err
	}
	more, err := parseYAML(added)
	if err != nil {
		return nil, err
	}
	before := operationsOf(doc)
	completeResponses(more, before)
	paths := member(doc, "paths")
	paths.Content = slices.Concat(member(more, "paths").Content, filterPairs(paths, func(path string) bool {
		return slices.Contains(keptPaths, path)
	}))
	merge(member(doc, "components"), member(more, "components"))
	merge(member(doc, "info"), member(more, "info"))
	removeCodes(doc, codes)
	pruneComponents(doc)
	pruneTags(doc, member(more, "tags"))
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(doc); err != nil {
		return nil, err
	}
	t[contract] = file{t[contract].mode, out.Bytes()}
	for id := range operationsOf(doc) {
		delete(before, id)
	}
	return slices.AppendSeq(codes, maps.Keys(before)), nil
}

func parseYAML(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

// member returns a member's value, an empty one if there is none.
func member(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return &yaml.Node{Kind: yaml.MappingNode}
}

// filterPairs returns the mapping's names and values whose names are kept.
func filterPairs(node *yaml.Node, keep func(name string) bool) []*yaml.Node {
	var kept []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		if keep(node.Content[i].Value) {
			kept = append(kept, node.Content[i], node.Content[i+1])
		}
	}
	return kept
}

// merge adds from's members to into. It replaces texts and merges mappings.
func merge(into, from *yaml.Node) {
	for i := 0; i+1 < len(from.Content); i += 2 {
		name, value := from.Content[i], from.Content[i+1]
		switch old := member(into, name.Value); {
		case old.Kind == yaml.ScalarNode:
			*old = *value
		case len(old.Content) > 0:
			merge(old, value)
		default:
			into.Content = append(into.Content, name, value)
		}
	}
}

// each visits a node and all that it contains.
func each(node *yaml.Node, visit func(*yaml.Node)) {
	visit(node)
	for _, child := range node.Content {
		each(child, visit)
	}
}

// operationsOf returns a document's operations by ID.
func operationsOf(doc *yaml.Node) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	each(doc, func(n *yaml.Node) {
		if id := member(n, "operationId"); id.Value != "" {
			found[id.Value] = n
		}
	})
	return found
}

// completeResponses adds to each fragment operation the responses of the contract operation that
// its x-like names, with the fragment's schema, example and descriptions.
func completeResponses(fragment *yaml.Node, like map[string]*yaml.Node) {
	for _, op := range operationsOf(fragment) {
		model := member(op, "x-like")
		responses := deepCopy(member(like[member(model, "operation").Value], "responses"))
		describe(responses, member(model, "descriptions"))
		succeed(responses, member(model, "schema").Value, member(model, "example").Value)
		op.Content = filterPairs(op, func(name string) bool { return name != "x-like" })
		op.Content = append(op.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "responses"}, responses)
	}
}

func describe(responses, descriptions *yaml.Node) {
	for i := 0; i+1 < len(descriptions.Content); i += 2 {
		*member(member(responses, descriptions.Content[i].Value), "description") = *descriptions.Content[i+1]
	}
}

// succeed replaces schema and examples in the successful response, which is the first one.
func succeed(responses *yaml.Node, schema, example string) {
	media := member(member(responses.Content[1], "content"), "application/json")
	member(member(media, "schema"), "$ref").Value = "#/components/schemas/" + schema
	examples := member(media, "examples")
	examples.Content = examples.Content[:2]
	examples.Content[0].Value = example
	member(examples.Content[1], "$ref").Value = "#/components/examples/" + example
}

func deepCopy(node *yaml.Node) *yaml.Node {
	clone := *node
	clone.Content = nil
	for _, child := range node.Content {
		clone.Content = append(clone.Content, deepCopy(child))
	}
	return &clone
}

// removeCodes removes codes from every value list and from response examples.
func removeCodes(doc *yaml.Node, codes []string) {
	isCode := func(name string) bool { return slices.Contains(codes, name) }
	each(doc, func(n *yaml.Node) {
		if n.Kind == yaml.SequenceNode {
			n.Content = slices.DeleteFunc(n.Content, func(item *yaml.Node) bool { return isCode(item.Value) })
		}
		if examples := member(n, "examples"); examples.Kind == yaml.MappingNode {
			examples.Content = filterPairs(examples, func(name string) bool { return !isCode(name) })
		}
	})
}

// pruneComponents removes the components that nothing refers to, until there are none. All
// security schemes stay, and so do the responses to unlisted requests.
func pruneComponents(doc *yaml.Node) {
	components := member(doc, "components")
	for before := -1; before != count(components); {
		before = count(components)
		used := map[string]bool{}
		each(doc, func(n *yaml.Node) {
			if ref, ok := strings.CutPrefix(member(n, "$ref").Value, "#/components/"); ok {
				used[ref] = true
			}
		})
		for i := 0; i+1 < len(components.Content); i += 2 {
			kind := components.Content[i].Value
			components.Content[i+1].Content = filterPairs(components.Content[i+1], func(name string) bool {
				return kind == "securitySchemes" || used[kind+"/"+name] || slices.Contains(keptComponents, kind+"/"+name)
			})
		}
		components.Content = withoutEmpty(components)
	}
}

func count(node *yaml.Node) (n int) {
	each(node, func(*yaml.Node) { n++ })
	return n
}

func withoutEmpty(node *yaml.Node) []*yaml.Node {
	return filterPairs(node, func(name string) bool { return len(member(node, name).Content) > 0 })
}

// pruneTags removes the tags that no operation has.
func pruneTags(doc, added *yaml.Node) {
	used := map[string]bool{}
	for _, op := range operationsOf(doc) {
		for _, tag := range member(op, "tags").Content {
			used[tag.Value] = true
		}
	}
	tags := member(doc, "tags")
	tags.Content = slices.DeleteFunc(slices.Concat(added.Content, tags.Content), func(tag *yaml.Node) bool {
		return !used[member(tag, "name").Value]
	})
}
