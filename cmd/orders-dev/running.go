package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// askTimeout bounds the request that identifies the user of a port.
const askTimeout = time.Second

// explainPortInUse explains how to reach a service that already uses the port, probably
// from a second terminal.
func explainPortInUse(ctx context.Context, addr string, err error) error {
	if !isService(ctx, addr) {
		return err
	}
	return fmt.Errorf("the service is running already: open http://%[1]s/play or http://%[1]s/docs, and print a token "+
		"with orders-dev token --sub ID --role ROLE; to start another one beside it, set ORDERS_ADDR, "+
		"ORDERS_ADMIN_ADDR and --dir (%[2]w)", addr, err)
}

// isService reports whether the service answers at an address.
func isService(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/health/live", http.NoBody)
	if err != nil {
		return false
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy
	response, err := direct.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	var health struct{ Status string }
	return json.NewDecoder(response.Body).Decode(&health) == nil && health.Status == "live"
}
