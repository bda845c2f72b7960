package events_test

import "testing"

// What could not be processed is not recorded, so that its sender can correct it and send
// it with the same id.
func TestConsumer_RecordsNoMessageWithoutItsEffect(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	w.startReplica(t, s.restock, usualAckWait)
	w.send(t, restocked("1", oneTea)) // there is no tea
	w.awaitAllDone(t)
	s.wantUnprocessed(t, "events /warehouse/1", "1")
}
