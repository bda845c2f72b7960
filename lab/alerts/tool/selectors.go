package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector is a query's selection: a metric, the required label values, and the labels
// that the query names beside them.
type selector struct {
	Query  string            `json:"query"`
	Metric string            `json:"metric"`
	Values map[string]string `json:"values"`
	Labels []string          `json:"labels"`
}

// printSelectors prints the selectors in the queries of a file.
func printSelectors(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var queries []string
	if err := json.Unmarshal(text, &queries); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var all []selector
	p := parser.NewParser(parser.Options{})
	for _, query := range queries {
		expr, err := p.ParseExpr(query)
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		all = append(all, selectorsOf(query, expr, nil)...)
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// selectorsOf returns the selectors of an expression. The grouping labels come from the
// surrounding expressions.
func selectorsOf(query string, node parser.Node, grouping []string) []selector {
	switch n := node.(type) {
	case *parser.AggregateExpr:
		if !n.Without {
			grouping = slices.Concat(grouping, n.Grouping)
		}
	case *parser.VectorSelector:
		s := selector{Query: query, Values: map[string]string{}, Labels: grouping}
		for _, m := range n.LabelMatchers {
			switch {
			case m.Name == model.MetricNameLabel:
				s.Metric = m.Value
			case m.Type == labels.MatchEqual:
				s.Values[m.Name] = m.Value
			default:
				s.Labels = append(slices.Clone(s.Labels), m.Name)
			}
		}
		return []selector{s}
	}
	var all []selector
	for child := range parser.ChildrenIter(node) {
		all = append(all, selectorsOf(query, child, grouping)...)
	}
	return all
}
