package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// groups are the metrics of commands that share transactions.
type groups struct {
	sizes  prometheus.Histogram
	split  prometheus.Counter
	queued prometheus.Histogram
}

func newGroups() groups {
	return groups{
		sizes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_command_group_size", Help: "Commands that shared a transaction, by group.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
		split: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orders_command_groups_split_total",
			Help: "Groups of commands that failed and were split, down to commands that run alone.",
		}),
		queued: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_command_queue_seconds", Help: "Time that commands waited for their group.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 10},
		}),
	}
}

// GroupRan counts a group of commands that shares a transaction.
func (m *Metrics) GroupRan(commands int) { m.groups.sizes.Observe(float64(commands)) }

// GroupSplit counts a group that failed.
func (m *Metrics) GroupSplit() { m.groups.split.Inc() }

// CommandQueued counts the time that a command waited for its group.
func (m *Metrics) CommandQueued(d time.Duration) { m.groups.queued.Observe(d.Seconds()) }
