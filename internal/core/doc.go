// Package core holds the vocabulary that every part of the business shares: money,
// actors, faults, events and pages. It knows neither HTTP nor SQL.
package core
