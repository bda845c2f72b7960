package migrations

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// connectTimeout bounds an attempt to connect to one of several servers.
const connectTimeout = 5 * time.Second

// chooseServer directs connections to the writable server, as the service does, if a
// URL names several servers without a preference. A single server also has fallbacks if
// TLS is optional.
func chooseServer(cfg *pgconn.Config) {
	several := slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != cfg.Host || f.Port != cfg.Port
	})
	if !several {
		return
	}
	if cfg.ValidateConnect == nil {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, connectTimeout)
}
