package natstest

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	devbroker "example.com/orders/internal/dev/broker"
)

func TestCluster_HasLeaderOnlyWithAllReplicas(t *testing.T) {
	t.Parallel()
	a := &devbroker.Broker{}
	c := Cluster{"a": a, "b": {}, "c": {}}
	current, lagging := &jetstream.PeerInfo{Current: true}, &jetstream.PeerInfo{}
	offline := &jetstream.PeerInfo{Current: true, Offline: true}
	for name, test := range map[string]struct {
		group *jetstream.ClusterInfo
		want  *devbroker.Broker
	}{
		"being created":    {nil, nil},
		"without replicas": {&jetstream.ClusterInfo{Leader: "a"}, nil},
		"lagging replica":  {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{current, lagging}}, nil},
		"offline replica":  {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{current, offline}}, nil},
		"without leader":   {&jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{current, current}}, nil},
		"complete":         {&jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{current, current}}, a},
	} {
		if got := c.leader(test.group); got != test.want {
			t.Errorf("%s: leader = %p, want %p", name, got, test.want)
		}
	}
}
