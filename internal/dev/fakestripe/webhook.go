package fakestripe

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// apiVersion is what events claim to be written in.
	apiVersion = "2026-03-25.dahlia"
	// sendEvery is how often the sender looks for events that are due.
	sendEvery = 100 * time.Millisecond
	// sendTimeout bounds one try to deliver.
	sendTimeout = 5 * time.Second
	// maxPause is the longest time between two tries.
	maxPause = 5 * time.Second
)

// event is something that happened to an intent or a refund.
type event struct {
	name   string
	object any
}

func (e event) payload(id string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"id": id, "object": "event", "api_version": apiVersion, "created": time.Now().Unix(), "livemode": false,
		"type": e.name, "data": map[string]any{"object": e.object},
	})
}

// tell notes events to be sent, in order; or, if wanted, the last one first and all of them twice.
func (s *Server) tell(ctx context.Context, tx pgx.Tx, twice bool, events ...event) error {
	deliveries := make([][]any, 0, 2*len(events))
	for _, e := range events {
		id := "evt_" + rand.Text()
		payload, err := e.payload(id)
		if err != nil {
			return err
		}
		deliveries = append(deliveries, []any{id, e.name, string(payload)})
	}
	if twice {
		slices.Reverse(deliveries)
		deliveries = append(deliveries, deliveries...)
	}
	for _, d := range deliveries {
		_, err := tx.Exec(ctx, `INSERT INTO psp_double.delivery (event, type, payload, due) VALUES ($1, $2, $3, now() + $4::interval)`,
			append(d, s.cfg.WebhookDelay)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Sign gives the Stripe-Signature header of a payload.
func Sign(secret string, payload []byte, at time.Time) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(payload)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// SendTo lets webhooks go to url from now on. None are sent while it is empty; they wait.
func (s *Server) SendTo(url string) { s.target.Store(&url) }

// SendWebhooks decides what is late and sends webhooks when they are due, until ctx ends. What goes wrong is tried again.
func (s *Server) SendWebhooks(ctx context.Context) {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for {
		if s.decideDue(ctx) == nil {
			_ = s.Deliver(ctx) // which notes what failed, for the next try
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Deliver sends each webhook that is due, once, in order, and joins the errors of those that were not taken. Tests call
// it instead of SendWebhooks, to have them sent before it returns.
func (s *Server) Deliver(ctx context.Context) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	url := *s.target.Load()
	if url == "" {
		return nil
	}
	rows, _ := s.pool.Query(ctx, `
		SELECT number, payload FROM psp_double.delivery WHERE delivered IS NULL AND due <= now() ORDER BY due, number`)
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[delivery])
	for _, d := range due {
		err = errors.Join(err, s.deliver(ctx, url, d))
	}
	return err
}

type delivery struct {
	Number  int64
	Payload string
}

// deliver makes one try, and notes how it ended.
func (s *Server) deliver(ctx context.Context, url string, d delivery) error {
	taken := s.post(ctx, url, []byte(d.Payload))
	_, err := s.pool.Exec(ctx, `
		UPDATE psp_double.delivery
		SET tries = tries + 1, delivered = CASE WHEN $2 THEN now() END,
		    due = now() + least($3, interval '100 ms' * 2 ^ least(tries, 10))
		WHERE number = $1`, d.Number, taken == nil, maxPause)
	return errors.Join(taken, err)
}

func (s *Server) post(ctx context.Context, url string, payload []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("Stripe-Signature", Sign(s.cfg.WebhookSecret, payload, time.Now()))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook was answered %s", res.Status)
	}
	return nil
}
