package bench

import (
	"fmt"
	"strings"
)

// growth measures the service on an empty and on a large database.
func (b *bench) growth() {
	empty, large := b.newTargets()
	for _, t := range []*target{empty, large} {
		b.serve(t, t.ServiceURL(b.t), b.pool)
	}
	setup := b.setup(large)
	b.rival = large
	all := b.plan(b.selectCommands(), nil)
	b.measureAll(empty, all)
	size := large.Count(b.t, `SELECT pg_database_size(current_database())`)
	content := fmt.Sprintf("%g million idempotency records and %g million orders, %d MB in all",
		millions(b.scaled(largeRecords)), millions(b.scaled(largeOrders)), size>>20)
	b.publish(growthText(setup, content, all))
}

func millions(n int64) float64 { return float64(n) / 1e6 }

const growthIntroduction = `# Growth

%s
The service ran alternately on an empty and on a large database. The large one holds
%s.
It was filled with durability off and measured with durability on.

All figures are medians. *Large ÷ empty* is the median of the ratios of the rounds. p99
is a latency of the service.

| command | connections | empty, req/s | large, req/s | large ÷ empty | p99 empty, ms | p99 large, ms |
|---|---:|---:|---:|---:|---:|---:|
`

func growthText(setup, content string, all []*series) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, growthIntroduction, setup, content)
	for _, s := range all {
		fmt.Fprintf(out, "| %s | %d | %.0f | %.0f | **%.2f** | %.2f | %.2f |\n",
			s.command.name, s.connections, medianOf(s.service, rateOf), medianOf(s.rival, rateOf),
			medianRatio(s.rival, s.service, rateOf), medianOf(s.service, p99Of), medianOf(s.rival, p99Of))
	}
	return out.String()
}
