// Command river is the subject River, with unique jobs.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"example.com/orders/kit/auth19/subjects/charges"
)

// args are the arguments of the job.
type args struct {
	Key            string `json:"key" river:"unique"`
	Path, Customer string
	Body           charges.Body
	Hooks          charges.Hooks
}

func (args) Kind() string { return "charge" }

type worker struct {
	river.WorkerDefaults[args]

	pool *pgxpool.Pool
}

// Work inserts the row and completes the job in one transaction.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	in := job.Args
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		resp, err := in.Hooks.Run(func() (charges.Response, error) {
			return charges.Charge(ctx, tx.QueryRow, in.Path, in.Customer, in.Body)
		})
		if err != nil {
			return river.JobCancel(err)
		}
		if err := river.RecordOutput(ctx, resp); err != nil {
			return err
		}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		log.Fatal(err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{pool: pool})
	queues := map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}
	client, err := river.NewClient(driver, &river.Config{Queues: queues, Workers: workers})
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Start(ctx); err != nil {
		log.Fatal(err)
	}
	mux := charges.NewMux(pool)
	for _, path := range charges.Routes {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			hooks := charges.HooksOf(r.Header.Get)
			in := args{
				Key: r.Header.Get("Idempotency-Key"), Path: path, Customer: charges.CustomerOf(r.Header.Get("Authorization")),
				Hooks: charges.Hooks{DelayBefore: hooks.DelayBefore, Fail: hooks.Fail},
			}
			if err := json.NewDecoder(r.Body).Decode(&in.Body); err != nil || in.Key == "" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			// The effect commits with the completion: the time between it and the response is here.
			resp, err := charges.Hooks{DelayAfter: hooks.DelayAfter}.Run(func() (charges.Response, error) {
				return run(r.Context(), client, in)
			})
			charges.Reply(w, resp, err)
		})
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), charges.Authenticated(mux))) //nolint:gosec // on loopback, for a test
}

// run inserts a job, unless it is there, and returns the recorded output. A job that takes
// longer gets 202.
func run(ctx context.Context, client *river.Client[pgx.Tx], in args) (resp charges.Response, err error) {
	inserted, err := client.Insert(ctx, in, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	if err != nil {
		return resp, err
	}
	job := inserted.Job
	for range 500 {
		switch job.State {
		case rivertype.JobStateCompleted:
			return resp, json.Unmarshal(job.Output(), &resp)
		case rivertype.JobStateCancelled, rivertype.JobStateDiscarded:
			return resp, charges.ErrTold
		}
		time.Sleep(20 * time.Millisecond)
		if job, err = client.JobGet(ctx, job.ID); err != nil {
			return resp, err
		}
	}
	return charges.Response{Status: http.StatusAccepted}, nil
}
