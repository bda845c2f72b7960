package events_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/adapters/in/events"
	natstest "example.com/orders/internal/test/nats"
	testwait "example.com/orders/internal/test/wait"
)

// deliverAgain deletes the consumer. The service makes another, which gets all messages.
func (w warehouse) deliverAgain(t *testing.T) {
	t.Helper()
	if err := w.js.DeleteConsumer(t.Context(), events.Stream, durable); err != nil {
		t.Fatal(err)
	}
	w.awaitAllDone(t)
}

// reasons returns the reasons of all dead letters.
func (w warehouse) reasons(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, letter := range w.deadLetters(t) {
		found = append(found, letter.Header.Get(events.HeaderReason))
	}
	return found
}

// A stream may keep messages longer than the inbox, and a consumer may be made again.
func TestConsumer_CountsAMessageOnceAfterTheInboxHasForgottenIt(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	for _, id := range []string{"1", "2", "1"} { // the sender repeats one later
		w.send(t, restocked(id, fiveTeas))
	}
	w.awaitAllDone(t)
	w.deliverAgain(t)
	if letters := w.reasons(t); len(letters) > 0 {
		t.Errorf("dead letters while all is remembered: %v", letters)
	}

	s.forget(t)
	w.deliverAgain(t)

	if letters := w.reasons(t); !slices.Equal(letters, []string{events.CodeForgotten, events.CodeForgotten, events.CodeForgotten}) {
		t.Errorf("dead letters for %v, want 3 of %s", letters, events.CodeForgotten)
	}
	s.wantOnHand(t, "tea", 10)
	w.send(t, restocked("3", oneTea))
	w.awaitAllDone(t)
	s.wantOnHand(t, "tea", 11)
}

// openLetters opens the dead letters as an operator does.
func (w warehouse) openLetters(t *testing.T) events.DeadLetters {
	t.Helper()
	letters, err := events.OpenDeadLetters(t.Context(), natstest.Connect(t, w.broker))
	if err != nil {
		t.Fatal(err)
	}
	return letters
}

func TestDeadLetters_ReturnOnce(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	w.startReplica(t, s.restock, usualAckWait)
	for range 3 { // the sender repeats it twice
		w.send(t, restocked("1", fiveTeas))
	}
	w.awaitAllDone(t)
	letters := w.openLetters(t)
	if err := letters.Retry(t.Context(), 1); err == nil || err.Error() != "not_found: there is no such product" {
		t.Errorf("retry a letter for an unknown product: %v", err)
	}
	s.addProduct(t, "tea")
	for _, sequence := range []uint64{1, 2} {
		if err := letters.Retry(t.Context(), sequence); err != nil {
			t.Errorf("retry letter %d: %v", sequence, err)
		}
	}
	s.wantOnHand(t, "tea", 5)

	s.forget(t)
	err := letters.Retry(t.Context(), 3)

	if err == nil || !strings.HasPrefix(err.Error(), events.CodeForgotten+": ") {
		t.Errorf("retry a letter that may have been processed: %v", err)
	}
	s.wantOnHand(t, "tea", 5)
	if left := w.openLetters(t).CachedInfo().State.Msgs; left != 1 {
		t.Errorf("%d letters are left, want 1", left)
	}
}

// An operator who has compared the stock decides that a forgotten message was not counted.
func TestDeadLetters_ReturnAForgottenMessageByDecision(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	w.send(t, restocked("1", fiveTeas))
	w.awaitAllDone(t)
	s.forget(t)
	w.deliverAgain(t)

	if err := w.openLetters(t).Retry(t.Context(), 1); err != nil {
		t.Error(err)
	}

	s.wantOnHand(t, "tea", 10)
}

func TestDeadLetters_AreNotRetriedByNobody(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	replica := w.startReplica(t, s.restock, usualAckWait)
	w.send(t, restocked("1", fiveTeas))
	w.awaitAllDone(t)
	replica.stop()
	letters := w.openLetters(t)

	testwait.Until(t, "the operator learns that no replica answers", func() bool {
		err := letters.Retry(t.Context(), 1)
		return err != nil && strings.Contains(err.Error(), "no replica")
	})
}

// What two parsers read differently is refused, as in a request.
func TestConsumer_ReadsJSONStrictly(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	good := restocked("1", oneTea)
	ambiguous := []string{
		restocked("2", oneTea+`,"quantity":7`),
		restocked("3", oneTea+`,"more":{"a":1,"a":2}`),
		strings.Replace(good, `"id":"1"`, `"id":"4","id":"5"`, 1),
		strings.Replace(good, `"id":"1"`, `"ID":"6"`, 1),
		strings.Replace(good, `"data":`, `"Data":`, 1),
		restocked("7", `"sku":"tea","Quantity":1`),
		restocked("8", `"SKU":"tea","quantity":1`),
		strings.Replace(good, `"id":"1"`, "\"id\":\"9\",\"more\":\"\xff\"", 1),
	}
	for _, body := range append(ambiguous, good) {
		w.send(t, body)
	}
	twice := binary(t, "10", "inventory.restocked", "{"+oneTea+"}")
	twice.Header["Ce-Id"] = []string{"11"}
	w.sendMsg(t, twice)
	twice.Header = binary(t, "12", "inventory.restocked", "").Header
	twice.Header["ce-id"] = []string{"12", "13"}
	w.sendMsg(t, twice)

	w.awaitAllDone(t)

	if got := w.reasons(t); len(got) != len(ambiguous)+2 {
		t.Errorf("dead letters for %v, want %d", got, len(ambiguous)+2)
	}
	s.wantOnHand(t, "tea", 1)
}

func TestConsumer_NamesInvalidMembersInADeadLetter(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	w.send(t, restocked("1", `"sku":"tea","quantity":0`))
	w.awaitAllDone(t)
	for _, letter := range w.deadLetters(t) {
		if got := letter.Header.Get(events.HeaderDetail); got != "/quantity: must be greater than zero" {
			t.Errorf("the detail is %q", got)
		}
	}
}
