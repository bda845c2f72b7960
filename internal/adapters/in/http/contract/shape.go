package contract

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/strictjson"
)

// shape is the schema of a value in a body: the part of JSON Schema that the contract
// uses there. Each occurrence of a schema in the contract is a separate shape.
type shape struct {
	Ref                  string `yaml:"$ref"`
	Type                 string // object, array, string, integer or boolean
	Properties           map[string]*shape
	Required             []string
	MinProperties        *int  `yaml:"minProperties"`
	AdditionalProperties *bool `yaml:"additionalProperties"`
	Items                *shape
	MinItems             *int `yaml:"minItems"`
	MaxItems             *int `yaml:"maxItems"`
	Enum                 []string
	Pattern              string
	MinLength            *int `yaml:"minLength"`
	MaxLength            *int `yaml:"maxLength"`
	Minimum, Maximum     *int64
	// OneOf has no type: one of the shapes applies. The value of a member, the
	// discriminator, selects it, or else the presence of a member.
	OneOf               []*shape `yaml:"oneOf"`
	Discriminator       discriminator
	Description, Format string
	Unknown             map[string]any `yaml:",inline"`

	name    string // of the member
	pattern *regexp.Regexp
	choices map[string]*shape // by the value of the discriminator
	// selector is the shape of a body as far as the discriminator: it allows other
	// members.
	selector *shape
	// alternatives are members of which exactly one must be present.
	alternatives []string
}

// types are the types that a reader checks.
var types = []string{"object", "array", "string", "integer", "boolean"}

// shapeOf returns the shape of the schema that a reference names.
func (doc *openAPI) shapeOf(ref string) (*shape, error) {
	node, ok := doc.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	if !ok {
		return nil, fmt.Errorf("there is no schema %s", ref)
	}
	s := new(shape)
	if err := node.Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	if err := doc.complete(s); err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return s, nil
}

// complete replaces the references in a shape. It returns an error for a keyword that
// no check knows, so that no keyword is ignored.
func (doc *openAPI) complete(s *shape) (err error) {
	isChoice := len(s.OneOf) > 0
	isTyped := isChoice || slices.Contains(types, s.Type)
	isOpen := s.AdditionalProperties == nil || *s.AdditionalProperties
	hasUnknownMembers := s.Type == "object" && isOpen
	lacksItems := s.Type == "array" && s.Items == nil
	switch {
	case s.Ref != "":
		named, err := doc.shapeOf(s.Ref)
		if err == nil {
			*s = *named
		}
		return err
	case len(s.Unknown) > 0 || !isTyped || hasUnknownMembers || lacksItems:
		return fmt.Errorf("bodies are checked for %v with known members and items only, and not for %v", types, s.Unknown)
	case isChoice && len(s.Discriminator.Mapping) > 0:
		return doc.completeChoice(s)
	case isChoice:
		return doc.completeAlternatives(s)
	case s.Type == "array":
		return doc.complete(s.Items)
	case s.Pattern != "":
		s.pattern, err = regexp.Compile(s.Pattern)
		return err
	}
	for name, member := range s.Properties {
		if err := doc.complete(member); err != nil {
			return err
		}
		member.name = name
	}
	return nil
}

func (doc *openAPI) completeChoice(s *shape) (err error) {
	s.choices = map[string]*shape{}
	for value, ref := range s.Discriminator.Mapping {
		if s.choices[value], err = doc.shapeOf(ref); err != nil {
			return err
		}
	}
	name := s.Discriminator.PropertyName
	member := &shape{Type: "string", Enum: slices.Sorted(maps.Keys(s.choices)), name: name}
	s.selector = &shape{Type: "object", Required: []string{name}, Properties: map[string]*shape{name: member}}
	return nil
}

// completeAlternatives makes one object of the shapes of a choice that has no
// discriminator. They are objects with one required member each, and share all other
// members.
func (doc *openAPI) completeAlternatives(s *shape) error {
	whole := &shape{Type: "object", AdditionalProperties: new(false), Properties: map[string]*shape{}, name: s.name}
	for _, choice := range s.OneOf {
		if err := doc.complete(choice); err != nil {
			return err
		}
		whole.alternatives = append(whole.alternatives, choice.Required...)
		maps.Copy(whole.Properties, choice.Properties)
	}
	for _, choice := range s.OneOf {
		shared := len(whole.Properties) - len(s.OneOf)
		if choice.Type != "object" || len(choice.Required) != 1 || len(choice.Properties) != shared+1 {
			return fmt.Errorf("a choice without a discriminator is checked for objects that differ in one required member")
		}
	}
	*s = *whole
	return nil
}

// check returns a body in canonical form, or a refusal.
func (s *shape) check(body []byte) ([]byte, error) {
	if s.selector == nil {
		return read(s, body)
	}
	if _, err := read(s.selector, body); err != nil {
		return nil, err
	}
	object, err := strictjson.Decode[map[string]any](body)
	if err != nil {
		return nil, err
	}
	chosen, _ := object[s.Discriminator.PropertyName].(string)
	canonical, err := read(s.choices[chosen], body)
	return canonical, s.explain(err, chosen)
}

// explain says that a different choice may know the unknown members.
func (s *shape) explain(err error, chosen string) error {
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok {
		return err
	}
	for i := range p.Errors {
		if p.Errors[i].Detail == unknownMember {
			p.Errors[i].Detail = fmt.Sprintf("%s where %s is %s", unknownMember, s.Discriminator.PropertyName, chosen)
		}
	}
	return p
}
