package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
)

// choice is a body that follows one schema out of several (oneOf). A member's value,
// the discriminator, selects it; without it the validator would report the rules of all
// schemas. The zero choice is none.
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
		return problem.Invalid(wire.FieldError{Pointer: "#", Detail: "must be of type object"})
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
	return problem.Invalid(wire.FieldError{Pointer: problem.Pointer(c.member), Detail: detail})
}

// explain says that another choice may know the unknown members.
func (c choice) explain(err error, name string) error {
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok {
		return err
	}
	for i := range p.Errors {
		if p.Errors[i].Detail == unknownMember {
			p.Errors[i].Detail = fmt.Sprintf("%s where %s is %s", unknownMember, c.member, name)
		}
	}
	return p
}
