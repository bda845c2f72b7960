package outbox_test

import (
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/outbox"
)

// Consumers verify signatures over these bytes and know these members.
func TestCloudEvent_KeepsItsPublishedBytes(t *testing.T) {
	t.Parallel()
	e := outbox.Event{
		ID: "0192f1a4-5c3e-7c1d-9d59-3d1f2f9a1b01", Source: "/orders/5b6d7c1e", Type: "order.created",
		Aggregate: "order/17", Version: 1, At: time.Date(2026, 11, 26, 9, 30, 0, 123456000, time.UTC),
		Data: []byte(`{"note":"a < b","order_id":17}`), Traceparent: "00-1-2-01",
	}
	const want = `{"specversion":"1.0","id":"0192f1a4-5c3e-7c1d-9d59-3d1f2f9a1b01","source":"/orders/5b6d7c1e",` +
		`"type":"order.created","subject":"order/17","time":"2026-11-26T09:30:00.123456Z",` +
		`"datacontenttype":"application/json","schemaversion":1,"data":{"note":"a \u003c b","order_id":17}}`

	if got, err := e.CloudEvent(); err != nil || string(got) != want {
		t.Errorf("got  %s, err = %v\nwant %s", got, err, want)
	}
}

func TestCloudEvent_RefusesDataThatIsNoJSON(t *testing.T) {
	t.Parallel()
	got, err := outbox.Event{ID: "7", Data: []byte("{")}.CloudEvent()
	if err == nil || !strings.Contains(err.Error(), "encode event 7") {
		t.Errorf("got %s, err = %v", got, err)
	}
}
