// Command asynq is the subject asynq, with task IDs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/auth19/subjects/charges"
)

// payload is the payload of the task.
type payload struct {
	Path, Customer string
	Body           charges.Body
	Hooks          charges.Hooks
}

func main() {
	pool, err := pgxpool.New(context.Background(), os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	redis, err := asynq.ParseRedisURI(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	tasks := asynq.NewServeMux()
	tasks.HandleFunc("charge", func(ctx context.Context, task *asynq.Task) error { return work(ctx, task, pool) })
	if err := asynq.NewServer(redis, asynq.Config{Concurrency: 100}).Start(tasks); err != nil {
		log.Fatal(err)
	}
	client, inspector := asynq.NewClient(redis), asynq.NewInspector(redis)
	mux := charges.NewMux(pool)
	for _, path := range charges.Routes {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			key := r.Header.Get("Idempotency-Key")
			in := payload{Path: path, Customer: charges.CustomerOf(r.Header.Get("Authorization")), Hooks: charges.HooksOf(r.Header.Get)}
			if err := json.NewDecoder(r.Body).Decode(&in.Body); err != nil || key == "" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			resp, err := run(r.Context(), client, inspector, key, in)
			charges.Reply(w, resp, err)
		})
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), charges.Authenticated(mux))) //nolint:gosec // on loopback, for a test
}

// work inserts the row and writes the result of the task.
func work(ctx context.Context, task *asynq.Task, pool *pgxpool.Pool) error {
	var in payload
	if err := json.Unmarshal(task.Payload(), &in); err != nil {
		return err
	}
	resp, err := in.Hooks.Run(func() (charges.Response, error) {
		return charges.Charge(ctx, pool.QueryRow, in.Path, in.Customer, in.Body)
	})
	if errors.Is(err, charges.ErrTold) {
		return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(resp)
	if err != nil {
		return err
	}
	_, err = task.ResultWriter().Write(text)
	return err
}

// run enqueues a task, unless it is there, and returns the result. A task that takes longer
// gets 202.
func run(ctx context.Context, client *asynq.Client, inspector *asynq.Inspector, key string, in payload) (resp charges.Response, err error) {
	text, err := json.Marshal(in)
	if err != nil {
		return resp, err
	}
	_, err = client.EnqueueContext(ctx, asynq.NewTask("charge", text), asynq.TaskID(key), asynq.Retention(24*time.Hour))
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return resp, err
	}
	for range 500 {
		task, err := inspector.GetTaskInfo("default", key)
		switch {
		case err != nil:
			return resp, err
		case task.State == asynq.TaskStateCompleted:
			return resp, json.Unmarshal(task.Result, &resp)
		case task.State == asynq.TaskStateArchived:
			return resp, charges.ErrTold
		}
		time.Sleep(20 * time.Millisecond)
	}
	return charges.Response{Status: http.StatusAccepted}, nil
}
