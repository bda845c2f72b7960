package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// groups holds the metrics for commands that share transactions.
type groups struct {
	sizes  prometheus.Histogram
	split  prometheus.Counter
	queued prometheus.Histogram
}

func newGroups(create promauto.Factory) groups {
	return groups{
		sizes: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_command_group_size", Help: "Commands that shared a transaction.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
		split: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_command_groups_split_total",
			Help: "Groups that failed and were split, down to single commands.",
		}),
		queued: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_command_queue_seconds", Help: "Wait of commands for their group.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 10},
		}),
	}
}

// GroupRan counts a group of commands.
func (g *groups) GroupRan(commands int) { g.sizes.Observe(float64(commands)) }

// GroupSplit counts a failed group.
func (g *groups) GroupSplit() { g.split.Inc() }

// CommandQueued records a command's wait for its group.
func (g *groups) CommandQueued(d time.Duration) { g.queued.Observe(d.Seconds()) }
