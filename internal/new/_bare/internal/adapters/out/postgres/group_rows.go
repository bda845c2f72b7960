package postgres

import (
	"context"
	"errors"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// No command of this service joins a group yet: the first load of each ends the run of a
// member, which then runs alone. To join, a load notes a want in the member instead, load
// reads the wants of all members in one statement, and the rows that they write get a form
// for many.

// loaded is what the members of a group work on.
type loaded struct{}

// savedRows are the rows of the business that the members of a group have changed.
type savedRows struct{}

// load loads what the members want.
func (g *group) load(context.Context) error { return nil }

// cannotJoin reports whether a member must run alone because of what it wants.
func cannotJoin(err error) bool { return errors.Is(err, errNotJoined) }

// holds reports whether the group has locked the rows that a member has changed.
func (g *group) holds(*member) bool { return true }

// wroteStatements is called when a member has written what later members do not see.
func (g *group) wroteStatements(*member) {}

// writeRows queues the rows of the business.
func (g *group) writeRows(context.Context, *dbsqlc.Queries) error {
	g.tx.queued = append(g.tx.queued, g.statements...)
	return nil
}
