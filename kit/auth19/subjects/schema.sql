-- The business of every subject: one row per charge is the effect that auth19 counts.
CREATE TABLE charge (
	id       bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	kind     text   NOT NULL, -- the route: /charges, /refunds or /charges/quiet
	customer text   NOT NULL,
	amount   bigint NOT NULL,
	note     text,
	-- Only designs with a second line of defence set these two.
	order_id text,
	key      text,
	UNIQUE (order_id, key)
);
-- A charge above the payer's limit is refused. Payers without a row may pay 10000.
CREATE TABLE payer (id text PRIMARY KEY, max bigint NOT NULL);
