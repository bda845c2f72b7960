// Command watermill is the subject Watermill, with the SQL Pub/Sub and the Deduplicator.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/components/requestreply"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/auth19/subjects/charges"
)

// command is the command that a message carries.
type command struct {
	Key, Path, Customer string
	Body                charges.Body
	Hooks               charges.Hooks
}

// handle inserts the row in the transaction that consumes the message.
func handle(ctx context.Context, in *command) (charges.Response, error) {
	tx, ok := sql.TxFromContext(ctx)
	if !ok {
		return charges.Response{}, errors.New("a message has no transaction")
	}
	return in.Hooks.Run(func() (charges.Response, error) {
		queryRow := tx.(*sql.PgxTx).QueryRow //nolint:forcetypeassert // of a pool of pgx
		return charges.Charge(ctx, queryRow, in.Path, in.Customer, in.Body)
	})
}

func main() {
	pool := must(pgxpool.New(context.Background(), os.Getenv("DATABASE_URL")))
	bus, backend := start(pool)
	duplicates := &middleware.Deduplicator{
		KeyFactory: func(m *message.Message) (string, error) { return m.UUID, nil },
		Repository: must(middleware.NewMapExpiringKeyRepository(time.Minute)), // the default
		Timeout:    time.Minute,
	}
	mux := charges.NewMux(pool)
	for _, path := range charges.Routes {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			hooks := charges.HooksOf(r.Header.Get)
			in := command{
				Key: strings.Trim(r.Header.Get("Idempotency-Key"), `"`), Path: path, Customer: charges.CustomerOf(r.Header.Get("Authorization")),
				Hooks: charges.Hooks{DelayBefore: hooks.DelayBefore, Fail: hooks.Fail},
			}
			if err := json.NewDecoder(r.Body).Decode(&in.Body); err != nil || in.Key == "" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			if known, err := duplicates.IsDuplicate(message.NewMessage(in.Key, nil)); known || err != nil {
				charges.Reply(w, charges.Response{Status: http.StatusConflict}, err)
				return
			}
			resp, err := charges.Hooks{DelayAfter: hooks.DelayAfter}.Run(func() (charges.Response, error) {
				reply, err := requestreply.SendWithReply(r.Context(), bus, backend, in)
				return reply.HandlerResult, errors.Join(err, reply.Error)
			})
			charges.Reply(w, resp, err)
		})
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), charges.Authenticated(mux))) //nolint:gosec // on loopback, for a test
}

// start handles the commands of a bus, whose replies come through memory.
func start(pool *pgxpool.Pool) (*cqrs.CommandBus, requestreply.Backend[charges.Response]) {
	db, logger, topic := sql.BeginnerFromPgx(pool), watermill.NewSlogLogger(nil), "charges"
	schema, marshaler := sql.DefaultPostgreSQLSchema{}, cqrs.JSONMarshaler{}
	replies := gochannel.NewGoChannel(gochannel.Config{}, logger)
	backend := must(requestreply.NewPubSubBackend(requestreply.PubSubBackendConfig{
		Publisher:              replies,
		SubscriberConstructor:  func(requestreply.PubSubBackendSubscribeParams) (message.Subscriber, error) { return replies, nil },
		GeneratePublishTopic:   func(p requestreply.PubSubBackendPublishParams) (string, error) { return string(p.OperationID), nil },
		GenerateSubscribeTopic: func(p requestreply.PubSubBackendSubscribeParams) (string, error) { return string(p.OperationID), nil },
		AckCommandErrors:       true,
	}, requestreply.BackendPubsubJSONMarshaler[charges.Response]{}))
	publisher := must(sql.NewPublisher(db, sql.PublisherConfig{SchemaAdapter: schema, AutoInitializeSchema: true}, logger))
	bus := must(cqrs.NewCommandBusWithConfig(publisher, cqrs.CommandBusConfig{
		GeneratePublishTopic: func(cqrs.CommandBusGeneratePublishTopicParams) (string, error) { return topic, nil },
		OnSend: func(p cqrs.CommandBusOnSendParams) error {
			p.Message.UUID = p.Command.(command).Key //nolint:forcetypeassert // the only command
			return nil
		},
		Marshaler: marshaler,
	}))
	subscriber := must(sql.NewSubscriber(db, sql.SubscriberConfig{
		SchemaAdapter: schema, OffsetsAdapter: sql.DefaultPostgreSQLOffsetsAdapter{},
		InitializeSchema: true, PollInterval: 20 * time.Millisecond,
	}, logger))
	router := must(message.NewRouter(message.RouterConfig{}, logger))
	processor := must(cqrs.NewCommandProcessorWithConfig(router, cqrs.CommandProcessorConfig{
		GenerateSubscribeTopic: func(cqrs.CommandProcessorGenerateSubscribeTopicParams) (string, error) { return topic, nil },
		SubscriberConstructor: func(cqrs.CommandProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return subscriber, nil
		},
		Marshaler: marshaler,
	}))
	if err := processor.AddHandlers(requestreply.NewCommandHandlerWithResult("charge", backend, handle)); err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(router.Run(context.Background())) }()
	<-router.Running()
	return bus, backend
}

// must returns a part of the server, or ends it.
func must[T any](part T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return part
}
