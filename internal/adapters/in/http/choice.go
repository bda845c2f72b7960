package httpapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/orders/internal/adapters/in/http/wire"
)

// choice is a body that follows one of several schemas (oneOf). The value of a member, the
// discriminator, says which. Without it the validator would report the rules of all of
// them. The zero choice is none.
type choice struct {
	member  string
	schemas map[string]*jsonschema.Schema // by the value of the member
}

func compileChoice(compiler *jsonschema.Compiler, d discriminator) (choice, error) {
	c := choice{member: d.PropertyName, schemas: map[string]*jsonschema.Schema{}}
	for value, ref := range d.Mapping {
		schema, err := compiler.Compile(contractURL + ref)
		if err != nil {
			return choice{}, err
		}
		c.schemas[value] = schema
	}
	return c, nil
}

// validate checks a body against the schema that it chooses.
func (c choice) validate(value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return validationFailed([]wire.FieldError{{Pointer: "#", Detail: "must be of type object"}})
	}
	chosen, present := object[c.member]
	if !present {
		return c.wrong("is required")
	}
	name, ok := chosen.(string)
	if !ok {
		return c.wrong("must be of type string")
	}
	schema, known := c.schemas[name]
	if !known {
		return c.wrong("must be one of " + strings.Join(slices.Sorted(maps.Keys(c.schemas)), ", "))
	}
	return c.explain(validate(schema, value), name)
}

func (c choice) wrong(detail string) error {
	return validationFailed([]wire.FieldError{{Pointer: pointer([]string{c.member}), Detail: detail}})
}

// explain says of unknown members that another choice may know them.
func (c choice) explain(err error, name string) error {
	p, ok := errors.AsType[*problem](err)
	if !ok {
		return err
	}
	for i := range p.errors {
		if p.errors[i].Detail == unknownMember {
			p.errors[i].Detail = fmt.Sprintf("%s where %s is %s", unknownMember, c.member, name)
		}
	}
	return p
}
