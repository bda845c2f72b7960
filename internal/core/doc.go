// Package core holds the vocabulary shared by every part of the business: money,
// actors, faults, events and pages. It knows neither HTTP nor SQL.
package core
