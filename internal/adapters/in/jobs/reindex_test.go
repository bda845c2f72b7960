package jobs

import "testing"

// River rebuilds its indexes every night, which only their owner may do. The role of the
// service does not own them.
func TestClient_RebuildsNoIndexes(t *testing.T) {
	t.Parallel()
	cfg := clientConfig(Config{}, newSchedule(Config{}, nil), nil).WithDefaults()
	if len(cfg.ReindexerIndexNames) > 0 {
		t.Errorf("River would rebuild %v", cfg.ReindexerIndexNames)
	}
}
