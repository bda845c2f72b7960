-- The only personal data of the service (AUTH-16).
CREATE TABLE customer_profile (
    customer_id text        PRIMARY KEY,
    full_name   text        NOT NULL,
    email       text        NOT NULL,
    phone       text        NOT NULL,
    updated_at  timestamptz NOT NULL
);
