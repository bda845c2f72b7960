-- A URL that receives events. One of a seller receives the events about their orders and
-- products; one of an administrator has no seller_id, and receives those of all sellers.
-- Its events are sent by the new version only.
CREATE TABLE webhook_endpoint (
    id              bigint      GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY,
    owner           text        NOT NULL, -- who made it
    seller_id       text,
    url             text        NOT NULL,
    event_types     text[]      NOT NULL CONSTRAINT webhook_endpoint_event_types_check CHECK (cardinality(event_types) > 0),
    description     text        NOT NULL,
    ordered         boolean     NOT NULL,
    secret          text        NOT NULL,
    previous_secret text,       -- signs, too, until previous_until
    previous_until  timestamptz,
    failing_since   timestamptz,
    disabled_at     timestamptz,
    disabled_reason text,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,

    CONSTRAINT webhook_endpoint_owner_url_key UNIQUE (owner, url),
    CONSTRAINT webhook_endpoint_previous_check CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CONSTRAINT webhook_endpoint_disabled_check CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);

-- A condition that every row meets keeps an index from queries that do not name it: they use
-- the primary key, also when they are planned for an empty table.
CREATE INDEX webhook_endpoint_newest ON webhook_endpoint (created_at DESC, id DESC) WHERE owner >= '';
CREATE INDEX webhook_endpoint_of_seller ON webhook_endpoint (seller_id, created_at DESC, id DESC) WHERE seller_id >= '';
CREATE INDEX webhook_endpoint_disabled ON webhook_endpoint (disabled_at) WHERE disabled_at IS NOT NULL;
CREATE INDEX webhook_endpoint_of_all ON webhook_endpoint (created_at) WHERE seller_id IS NULL;

-- One event for one endpoint. The body is what is signed and sent at each attempt.
CREATE TABLE webhook_delivery (
    id              bigint      GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) PRIMARY KEY,
    endpoint_id     bigint      NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    event_id        uuid        NOT NULL,
    event_type      text        NOT NULL,
    aggregate       text        NOT NULL,
    position        bigint      NOT NULL, -- outbox.id, which orders the events of an aggregate
    body            text        NOT NULL,
    status          text        NOT NULL DEFAULT 'pending'
                                CONSTRAINT webhook_delivery_status_check CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts        integer     NOT NULL DEFAULT 0 CONSTRAINT webhook_delivery_attempts_check CHECK (attempts >= 0),
    next_attempt_at timestamptz, -- during an attempt: when it counts as lost
    response_status integer,
    response_start  text,
    error           text,       -- why the last attempt failed, a stable word
    event_at        timestamptz NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz,

    CONSTRAINT webhook_delivery_endpoint_id_event_id_key UNIQUE (endpoint_id, event_id),
    CONSTRAINT webhook_delivery_pending_check CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_finished_check CHECK ((status = 'pending') = (finished_at IS NULL))
);

CREATE INDEX webhook_delivery_due ON webhook_delivery (endpoint_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_delivery_earlier ON webhook_delivery (endpoint_id, aggregate, position) WHERE status = 'pending';
CREATE INDEX webhook_delivery_newest ON webhook_delivery (endpoint_id, status, id DESC) WHERE attempts >= 0;
CREATE INDEX webhook_delivery_event_at ON webhook_delivery (event_at);

-- When the deliveries of an event were written. NULL in what the previous version writes.
ALTER TABLE outbox ADD COLUMN dispatched_at timestamptz;
