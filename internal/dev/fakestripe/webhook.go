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
	// apiVersion is the Stripe API version in events.
	apiVersion = "2026-03-25.dahlia"
	// sendEvery is the poll interval for due deliveries.
	sendEvery = 100 * time.Millisecond
	// sendTimeout bounds one attempt to deliver.
	sendTimeout = 5 * time.Second
	// maxBackoff bounds the time between two attempts.
	maxBackoff = 5 * time.Second
)

// event is a change to an intent, a refund or a dispute.
type event struct {
	name   string
	object any
}

func (e event) payload(id string, live bool) ([]byte, error) {
	return json.Marshal(map[string]any{
		"id": id, "object": "event", "api_version": apiVersion, "livemode": live,
		"created": time.Now().Unix(), "type": e.name, "data": map[string]any{"object": e.object},
	})
}

// addEvents adds event deliveries, in order. With duplicates, it adds all of them
// twice, the last one first.
func (s *Server) addEvents(ctx context.Context, tx pgx.Tx, duplicates bool, events ...event) error {
	deliveries := make([][]any, 0, 2*len(events))
	for _, e := range events {
		id := "evt_" + rand.Text()
		payload, err := e.payload(id, s.live())
		if err != nil {
			return err
		}
		deliveries = append(deliveries, []any{id, e.name, string(payload)})
	}
	if duplicates {
		slices.Reverse(deliveries)
		deliveries = append(deliveries, deliveries...)
	}
	for _, d := range deliveries {
		_, err := tx.Exec(ctx, `
			INSERT INTO fakestripe.delivery (event, type, payload, due) VALUES ($1, $2, $3, now())`, d...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Sign returns the Stripe-Signature header of a payload.
func Sign(secret string, payload []byte, at time.Time) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(payload)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// SendTo sends webhooks to url from now on. While url is empty, webhooks wait.
func (s *Server) SendTo(url string) { s.target.Store(&url) }

// SendWebhooks decides late payments and sends due webhooks until ctx ends. It retries
// failures.
func (s *Server) SendWebhooks(ctx context.Context) {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for {
		if s.decideDue(ctx) == nil {
			_ = s.Deliver(ctx) // schedules the retry
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Deliver makes one attempt to send each due webhook, in order, and joins the errors.
// Tests call it instead of SendWebhooks to control the time.
func (s *Server) Deliver(ctx context.Context) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	url := *s.target.Load()
	if url == "" {
		return nil
	}
	rows, _ := s.pool.Query(ctx, `
		SELECT number, payload FROM fakestripe.delivery
		WHERE delivered IS NULL AND due <= now() ORDER BY due, number`)
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

// deliver makes one attempt and stores the result.
func (s *Server) deliver(ctx context.Context, url string, d delivery) error {
	sendErr := s.post(ctx, url, []byte(d.Payload))
	_, err := s.pool.Exec(ctx, `
		UPDATE fakestripe.delivery
		SET attempts = attempts + 1, delivered = CASE WHEN $2 THEN now() END,
		    due = now() + least($3, interval '100 ms' * 2 ^ least(attempts, 10))
		WHERE number = $1`, d.Number, sendErr == nil, maxBackoff)
	return errors.Join(sendErr, err)
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
		return fmt.Errorf("the webhook got the response %s", res.Status)
	}
	return nil
}
