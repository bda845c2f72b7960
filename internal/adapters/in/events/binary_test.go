package events_test

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"example.com/orders/internal/adapters/in/events"
	contracttest "example.com/orders/internal/test/contract"
)

// binary returns a message in CloudEvents' binary mode with these values of its headers.
func binary(t *testing.T, id, kind, data string) *nats.Msg {
	t.Helper()
	msg := nats.NewMsg(events.Subject)
	msg.Data = []byte(data)
	msg.Header = nats.Header{
		"ce-specversion": {"1.0"}, "ce-id": {id}, "ce-source": {"/warehouse/1"}, "ce-type": {kind},
		"content-type": {"application/json"},
	}
	return msg
}

// sendMsg publishes a message with headers.
func (w warehouse) sendMsg(t *testing.T, msg *nats.Msg) {
	t.Helper()
	if _, err := w.js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func TestConsumer_ReadsEventsInBinaryMode(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	msg := binary(t, "17", "inventory.restocked", "{"+fiveTeas+"}")
	values := map[string]any{}
	for name := range msg.Header {
		values[name] = msg.Header.Get(name)
	}
	if err := contracttest.MessageSchema(t, "WarehouseAttributes").Validate(values); err != nil {
		t.Error(err)
	}
	w.sendMsg(t, msg)
	w.send(t, restocked("17", fiveTeas)) // the same event in structured mode
	encoded := binary(t, "1%257", "inventory.restocked", "{"+oneTea+"}")
	encoded.Header["Ce-Type"] = encoded.Header["ce-type"]
	delete(encoded.Header, "ce-type")
	w.sendMsg(t, encoded)
	w.send(t, restocked("1%7", oneTea))

	w.awaitAllDone(t)

	s.wantOnHand(t, "tea", 6)
	if letters := w.deadLetters(t); len(letters) > 0 {
		t.Errorf("dead letters: %v", letters)
	}
}

func TestConsumer_KeepsTheAttributesOfADeadLetter(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	w.startReplica(t, nil, usualAckWait)
	w.sendMsg(t, binary(t, "18", "inventory.emptied", "{"+oneTea+"}"))
	w.sendMsg(t, binary(t, "19", "inventory.restocked", "no JSON"))

	w.awaitAllDone(t)

	found := map[string]string{} // the reason by the event's id
	for _, letter := range w.deadLetters(t) {
		found[letter.Header.Get("ce-id")] = letter.Header.Get(events.HeaderReason)
	}
	if diff := cmp.Diff(map[string]string{"18": events.CodeUnreadable, "19": events.CodeUnreadable}, found); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

func TestConsumer_ReadsDataInBase64(t *testing.T) {
	t.Parallel()
	w, s := newWarehouse(t), newShop(t)
	s.addProduct(t, "tea")
	w.startReplica(t, s.restock, usualAckWait)
	envelope := func(id, more string) string {
		return `{"specversion":"1.0","id":"` + id + `","source":"/warehouse/1","type":"inventory.restocked"` + more + `}`
	}
	five := `,"data_base64":"` + base64.StdEncoding.EncodeToString([]byte("{"+fiveTeas+"}")) + `"`
	w.send(t, envelope("1", five))
	for i, more := range []string{`,"data_base64":"?"`, `,"data_base64":"` + base64.StdEncoding.EncodeToString([]byte("tea")) + `"`, five + `,"data":{` + oneTea + `}`} {
		w.send(t, envelope("bad-"+string(rune('a'+i)), more))
	}

	w.awaitAllDone(t)

	s.wantOnHand(t, "tea", 5)
	if n := len(w.deadLetters(t)); n != 3 {
		t.Errorf("%d dead letters, want 3", n)
	}
}
