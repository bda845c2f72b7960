package postgres

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// Whoever gets no place leaves nothing behind: a share that is not returned would keep its
// principal from running commands for ever.
func TestPlace_LeavesNothingBehindWhenThereIsNone(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func(k *Keys) bool{
		"at once": func(k *Keys) bool {
			_, ok := k.tryPlace("bob")
			return ok
		},
		"until the deadline": func(k *Keys) bool {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := k.place(ctx, "bob")
			return err == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := &Keys{db: &DB{alone: semaphore.NewWeighted(1)}, shares: shares{size: 1}}
				anns, _ := k.tryPlace("ann")
				bobs := k.shares.of("bob") // of another command, which keeps the share present

				if try(k) {
					t.Fatal("bob got the place that ann has")
				}

				if !bobs.TryAcquire(1) {
					t.Error("bob's share is still taken")
				}
				k.shares.done("bob")
				anns.release()
				if n := len(k.shares.present); n != 0 {
					t.Errorf("%d principals without commands have shares", n)
				}
			})
		})
	}
}

// The same holds for those who wait for others of their principal.
func TestPlace_LeavesNothingBehindWhenTheShareIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &Keys{db: &DB{alone: semaphore.NewWeighted(9)}, shares: shares{size: 1}}
		first, _ := k.tryPlace("ann")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, now := k.tryPlace("ann")
		_, err := k.place(ctx, "ann")
		if now || err == nil {
			t.Fatal("a principal got two places; want its share of one")
		}

		first.release()

		if n := len(k.shares.present); n != 0 {
			t.Errorf("%d principals without commands have shares", n)
		}
		if !k.db.alone.TryAcquire(9) {
			t.Error("a place is still taken")
		}
	})
}
