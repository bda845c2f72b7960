package upgrade_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/lab/upgrade"
)

// schema is what the migrations below find. The last release is 0.2.0.
var schema = []string{
	`CREATE TABLE owner (name text PRIMARY KEY)`,
	`CREATE TABLE empty (id bigint PRIMARY KEY)`,
	`CREATE TABLE item (id bigint PRIMARY KEY, name text NOT NULL DEFAULT '', note text, state text CHECK (state IN ('new', 'old')))`,
	`ALTER TABLE item ADD CONSTRAINT item_state_set CHECK (state IS NOT NULL)`,
	`ALTER TABLE item ADD CONSTRAINT item_state_short CHECK (length(state) < 9) NOT VALID`,
	`CREATE INDEX item_name ON item (name)`,
	`CREATE SEQUENCE ids MAXVALUE 1000`,
	`INSERT INTO owner VALUES ('ann')`,
	`INSERT INTO item VALUES (1, 'tea', 'green', 'new')`,
}

// refused are migrations with what is wrong with them.
var refused = map[string][]string{
	// what makes commands wait
	"CREATE INDEX item_note ON item (note)":                                             {"commands on item wait for a scan of item"},
	"ALTER TABLE item ALTER COLUMN note SET DEFAULT 'none'; SELECT count(*) FROM owner": {"commands on item wait for a scan of owner"},
	"ALTER TABLE item ADD COLUMN size bigint DEFAULT 1 CHECK (size > 0)":                {"commands on item wait for a scan of item"},
	"ALTER TABLE item ADD COLUMN token uuid DEFAULT gen_random_uuid()": {
		"commands on item wait for a scan of item", "item is rewritten while commands wait"},
	"CREATE TABLE part (owner text REFERENCES owner); UPDATE item SET note = ''": {
		"rows of item are changed and stay locked", "commands on owner wait for a scan of item"},
	"DO $$ BEGIN FOR i IN 1..2 LOOP UPDATE item SET note = '' WHERE id = i; END LOOP; END $$": {"rows of item are changed and stay locked"},
	"REINDEX INDEX item_name":      {"commands on item wait for a scan of item", "item_name is rewritten while commands wait"},
	"TRUNCATE item":                {"commands on item wait for a scan of item", "item is rewritten while commands wait"},
	"CLUSTER item USING item_pkey": {"commands on item wait for a scan of item", "item is rewritten while commands wait"},

	// what the version before uses
	"DROP TABLE item":                               {"item is gone"},
	"ALTER TABLE item DROP COLUMN note":             {"item.note is gone"},
	"ALTER TABLE item DROP COLUMN name":             {"item.name is gone"},
	"ALTER TABLE item RENAME COLUMN note TO remark": {"item.note is gone"},
	"ALTER TABLE item RENAME TO thing":              {"item is gone"},
	"DROP INDEX item_name":                          {"item_name is gone"},
	"DROP SEQUENCE ids":                             {"ids is gone"},
	"ALTER SEQUENCE ids MAXVALUE 100":               {"ids was 1 to 1000 by 1 and is 1 to 100 by 1"},
	"ALTER TABLE item ALTER COLUMN note TYPE varchar(9)": {
		"commands on item wait for a scan of item", "item is rewritten while commands wait", "item.note was text and is character varying(9)"},
	"ALTER TABLE item ALTER COLUMN name DROP DEFAULT":                                            {"item.name has no default any more"},
	"ALTER TABLE item DROP CONSTRAINT item_pkey; ALTER TABLE item ALTER COLUMN id DROP NOT NULL": {"item_pkey is gone"},

	// what may refuse the writes of the version before
	"ALTER TABLE item ALTER COLUMN note SET NOT NULL": {
		"commands on item wait for a scan of item", "item.note must not be NULL any more"},
	"ALTER TABLE empty ADD COLUMN size bigint NOT NULL": {
		"commands on empty wait for a scan of empty", "empty.size has no default, and the version before does not write it"},
	"ALTER TABLE item ADD CONSTRAINT short CHECK (length(name) < 9) NOT VALID": {"short may refuse what the version before writes"},
	"ALTER TABLE item ADD CONSTRAINT known FOREIGN KEY (name) REFERENCES owner NOT VALID": {
		"known may refuse what the version before writes"},
	"CREATE UNIQUE INDEX CONCURRENTLY item_once ON item (name)": {"item_once may refuse what the version before writes"},
	"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE; END'; " +
		"CREATE TRIGGER refuse BEFORE INSERT ON item EXECUTE FUNCTION refuse()": {"refuse may refuse what the version before writes"},

	// what the lines of a migration say
	"-- contracts: item.note, unused since 0.3.0\nALTER TABLE item DROP COLUMN note": {"item.note must wait until version 0.3.0 is released"},
	"-- contracts: item.note, nobody uses it\nALTER TABLE item DROP COLUMN note": {
		`the line "-- contracts: item.note, nobody uses it" must end with: since VERSION`},
	"-- accepts: item.note, nobody uses it\nALTER TABLE item DROP COLUMN note": {
		`the line "-- accepts: item.note, nobody uses it" admits nothing`, "item.note is gone"},
	"-- contracts: item.name, unused since 0.2.0\nALTER TABLE item DROP COLUMN note": {
		`the line "-- contracts: item.name, unused since 0.2.0" admits nothing`, "item.note is gone"},
}

// accepted are migrations that an upgrade can run.
var accepted = []string{
	"CREATE TABLE part (id bigint PRIMARY KEY, item bigint REFERENCES item); CREATE INDEX part_item ON part (item); INSERT INTO part VALUES (1, 1)",
	"ALTER TABLE item ADD COLUMN size bigint",
	"ALTER TABLE item ADD COLUMN size bigint NOT NULL DEFAULT 1",
	"ALTER TABLE item ADD COLUMN size bigint, ADD CONSTRAINT small CHECK (size < 9) NOT VALID",
	"ALTER TABLE item ALTER COLUMN name SET DEFAULT 'none', ALTER COLUMN name DROP NOT NULL, DROP CONSTRAINT item_state_check",
	"CREATE INDEX CONCURRENTLY item_note ON item (note)",
	"-- contracts: item_name, unused since 0.2.0\nDROP INDEX CONCURRENTLY item_name",
	"-- contracts: item.note, unused since 0.1.0\nALTER TABLE item DROP COLUMN note",
	"-- contracts: item.state, always set since 0.2.0\nALTER TABLE item ALTER COLUMN state SET NOT NULL",
	"ALTER TABLE item VALIDATE CONSTRAINT item_state_short",
	"-- accepts: item_state_check, it only adds a state\nALTER TABLE item DROP CONSTRAINT item_state_check, " +
		"ADD CONSTRAINT item_state_check CHECK (state IN ('new', 'old', 'sold')) NOT VALID",
	"-- accepts: item_once, the version before leaves note NULL\nCREATE UNIQUE INDEX CONCURRENTLY item_once ON item (note)",
	"-- accepts: owner, it has a row for each shop\nUPDATE owner SET name = 'bob'",
}

func check(t *testing.T, migration string) ([]string, error) {
	t.Helper()
	conn := newEmpty(t)
	for _, statement := range schema {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return upgrade.Check(t.Context(), conn, migration, "0.2.0")
}

func TestCheck_FindsWhatStopsAnUpgrade(t *testing.T) {
	t.Parallel()
	for migration, want := range refused {
		t.Run(migration, func(t *testing.T) {
			t.Parallel()
			found, err := check(t, migration)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheck_AcceptsWhatAnUpgradeCanRun(t *testing.T) {
	t.Parallel()
	for _, migration := range accepted {
		t.Run(migration, func(t *testing.T) {
			t.Parallel()
			if found, err := check(t, migration); len(found) > 0 || err != nil {
				t.Errorf("findings %q, err = %v", found, err)
			}
		})
	}
}

// A migration that ends its transaction leaves half of itself behind when it fails.
func TestCheck_RefusesAMigrationThatEndsItsTransaction(t *testing.T) {
	t.Parallel()
	_, err := check(t, "COMMIT; BEGIN; DROP TABLE item")
	if err == nil || !strings.Contains(err.Error(), "ends the transaction") {
		t.Errorf("err = %v", err)
	}
}
