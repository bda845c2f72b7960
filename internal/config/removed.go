package config

import (
	"fmt"
	"strings"
)

// removed are the former settings, and what holds now. An installation that sets one
// relies on it.
var removed = map[string]string{
	"ORDERS_DATABASE_STANDBY_URL":       "the primary serves all reads",
	"ORDERS_DATABASE_STANDBY_STALENESS": "the primary serves all reads",
	"ORDERS_DATABASE_ROLE":              "the role is orders_service",
	"ORDERS_DATABASE_OPERATOR_ROLE":     "the role is orders_operator",
	"ORDERS_JWKS_MAX_AGE":               "keys are trusted for a day while the issuer publishes none",
	"ORDERS_MAX_CONNECTIONS":            "10000 connections stay open, and more wait",
	"ORDERS_NATS_CA":                    "SSL_CERT_FILE names the private CAs",
	"ORDERS_NATS_CERT":                  "ORDERS_NATS_CREDENTIALS identifies the service at the broker",
	"ORDERS_NATS_KEY":                   "ORDERS_NATS_CREDENTIALS identifies the service at the broker",
}

// removedSetting returns an error if the name is that of a former setting.
func removedSetting(name string) error {
	now, was := removed[strings.TrimSuffix(name, fileSuffix)]
	if !was {
		return nil
	}
	return fmt.Errorf("%s was removed: %s", name, now)
}
