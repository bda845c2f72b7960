package faults

import (
	"flag"
	"fmt"
	"testing"
	"time"

	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var (
	only  = flag.String("fault", "", "the name of the only fault; default all of the short form")
	seed  = flag.Uint64("seed", 0, "the seed of the first run; default another one each time")
	seeds = flag.Int("seeds", 0, "run this many seeds of each fault, also of those outside the short form")
)

func TestFaults(t *testing.T) {
	t.Parallel()
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	for _, f := range All {
		if *only != "" && f.Name != *only || *only == "" && *seeds == 0 && !f.Short {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for i := range max(*seeds, 1) {
				n := first + uint64(i)
				t.Run(fmt.Sprint(n), func(t *testing.T) { Run(t, f, n) })
			}
		})
	}
}
