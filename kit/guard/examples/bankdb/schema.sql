CREATE TABLE account (name text PRIMARY KEY);
CREATE TABLE transfer (
	id      bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	account text   NOT NULL REFERENCES account,
	cents   bigint NOT NULL
);
INSERT INTO account VALUES ('ann'), ('bob');
INSERT INTO transfer (account, cents) VALUES ('ann', 1000), ('ann', 1000);

-- The second line of defence. Transfers from before the guard have no key.
ALTER TABLE transfer ADD principal text, ADD key text;
CREATE UNIQUE INDEX transfer_key ON transfer (account, principal, key);
