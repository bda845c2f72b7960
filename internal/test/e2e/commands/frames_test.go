package commands_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// maxFrames bounds the calls of this repository that a request passes from the server to a
// store. Each is a hop for readers and a line in every stack. A command whose row is held
// for long runs outside its lane, where there are more.
const maxFrames, maxFramesOutside = 22, 27

func TestConfirmPayment_LeavesFewFramesBetweenServerAndStore(t *testing.T) {
	t.Parallel()
	shop := e2e.StartShop(t, e2e.Stock{"tea": 1})
	shop.Credit(t, "ann", "100.00")
	order := shop.MustCreateOrder(t, "ann", "tea", 1)
	row := shop.LockRows(t, "SELECT FROM orders WHERE id = $1 FOR UPDATE", order.ID)
	var paying sync.WaitGroup
	paying.Go(func() { shop.Send(t, shop.ConfirmCall(t, "ann", order.ID)) })
	var frames []string
	e2e.Eventually(t, "a request waits in a store", func() bool {
		frames = framesToStore()
		return frames != nil
	})
	row.Release()
	paying.Wait()
	most, all := maxFrames, strings.Join(frames, "\n")
	if strings.Contains(all, ".runOutside(") {
		most = maxFramesOutside
	}
	if len(frames) > most {
		t.Errorf("%d frames, want at most %d:\n%s", len(frames), most, all)
	}
}

// framesToStore returns the frames of the request that a store answers now, the store
// first, or nil if there is none.
func framesToStore() []string {
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		frames := slices.DeleteFunc(strings.Split(stack, "\n"), func(line string) bool {
			return !strings.HasPrefix(line, "example.com/orders/")
		})
		useCase := slices.IndexFunc(frames, func(f string) bool { return strings.Contains(f, "/internal/core/") })
		if useCase > 0 && strings.Contains(stack, "net/http.(*conn).serve") {
			return frames[useCase-1:]
		}
	}
	return nil
}
