package streams_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/adapters/streams"
	natstest "example.com/orders/internal/test/nats"
)

func TestEnsure_RaisesTheReplicasAndNothingElse(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.NewCluster(t))
	for _, c := range []struct {
		name              string
		has, asked, wants int
	}{
		{"NEW", 0, 3, 3}, {"FEWER", 1, 3, 3}, {"AS_MANY", 3, 3, 3}, {"MORE", 3, 1, 3}, {"USUAL", 1, 0, 1},
	} {
		operators := jetstream.StreamConfig{Name: c.name, MaxMsgs: 17, Subjects: []string{c.name}, Replicas: c.has}
		if c.has > 0 {
			if _, err := js.CreateStream(t.Context(), operators); err != nil {
				t.Fatal(err)
			}
		}
		ours := jetstream.StreamConfig{Name: c.name, MaxMsgs: 17, Subjects: []string{c.name, c.name + ".ours"}, Replicas: c.asked}
		if err := streams.Ensure(t.Context(), js, ours); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		stream, err := js.Stream(t.Context(), c.name)
		if err != nil {
			t.Fatal(err)
		}
		want := operators
		if c.has == 0 {
			want = ours
		}
		got := stream.CachedInfo().Config
		if got.Replicas != c.wants || got.MaxMsgs != 17 || !cmp.Equal(got.Subjects, want.Subjects) {
			t.Errorf("%s: %+v, want %d replicas and %v", c.name, got, c.wants, want.Subjects)
		}
	}
}

// Otherwise an acknowledged message would be lost with the only server that has it.
func TestEnsure_FailsWithoutEnoughServers(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.New(t))
	cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3}
	if err := streams.Ensure(t.Context(), js, cfg); err == nil {
		t.Error("a stream with three replicas was created on one server")
	}
	cfg.Replicas = 1
	if err := streams.Ensure(t.Context(), js, cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Replicas = 3
	if err := streams.Ensure(t.Context(), js, cfg); err == nil {
		t.Error("a stream on one server counts as one with three replicas")
	}
}
