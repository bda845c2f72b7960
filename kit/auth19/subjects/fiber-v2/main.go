// Command fiber-v2 is the subject gofiber/fiber v2, middleware/idempotency.
package main

import (
	"context"
	"log"
	"os"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/idempotency"
	"github.com/gofiber/storage/redis/v3"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/auth19/subjects/charges"
)

func main() {
	pool, err := pgxpool.New(context.Background(), os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/health", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusOK) })
	app.Use(func(c *fiber.Ctx) error {
		if charges.CustomerOf(c.Get("Authorization")) == "" {
			return fiber.ErrUnauthorized
		}
		return c.Next()
	})
	app.Put("/payers/:id", func(c *fiber.Ctx) error {
		var limit struct{ Max int64 }
		if err := c.BodyParser(&limit); err != nil {
			return err
		}
		return charges.SetLimit(c.UserContext(), pool, c.Params("id"), limit.Max)
	})
	app.Use(idempotency.New(idempotency.Config{
		Storage: redis.New(redis.Config{URL: os.Getenv("REDIS_URL")}), // two processes share it
	}))
	for _, path := range charges.Routes {
		app.Post(path, func(c *fiber.Ctx) error { return charge(c, pool, path) })
	}
	app.Get("/charges", func(c *fiber.Ctx) error {
		rows, err := charges.List(c.UserContext(), pool)
		if err != nil {
			return err
		}
		return c.JSON(fiber.Map{"data": rows})
	})
	log.Fatal(app.Listen("127.0.0.1:" + os.Getenv("PORT")))
}

func charge(c *fiber.Ctx, pool *pgxpool.Pool, path string) error {
	var body charges.Body
	if err := c.BodyParser(&body); err != nil {
		return err
	}
	hooks := charges.HooksOf(func(name string) string { return c.Get(name) })
	resp, err := hooks.Run(func() (charges.Response, error) {
		return charges.Charge(c.UserContext(), pool.QueryRow, path, charges.CustomerOf(c.Get("Authorization")), body)
	})
	if err != nil {
		return err
	}
	return c.Status(resp.Status).Type("json").Send(resp.Body)
}
