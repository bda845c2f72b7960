// A server that looks idempotent: it finds the key, or runs and saves. go run server.go
package main

import (
	"cmp"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

type charge map[string]any

var (
	mu        sync.Mutex
	charges   = []charge{}
	responses = map[string]charge{}
)

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func list(w http.ResponseWriter, _ *http.Request) {
	mu.Lock()
	defer mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"data": charges})
}

func create(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	made := charge{}
	if err := json.NewDecoder(r.Body).Decode(&made); err != nil || key == "" {
		answer(w, http.StatusBadRequest, map[string]string{"error": "JSON and Idempotency-Key are required"})
		return
	}
	mu.Lock()
	found, ok := responses[key]
	mu.Unlock()
	if ok {
		answer(w, http.StatusCreated, found)
		return
	}
	delay, _ := strconv.Atoi(cmp.Or(r.Header.Get("X-Delay"), "5"))
	time.Sleep(time.Duration(delay) * time.Millisecond) // a database is as slow
	mu.Lock()
	defer mu.Unlock()
	made["id"] = len(charges) + 1
	charges = append(charges, made)
	responses[key] = made
	answer(w, http.StatusCreated, made)
}

func main() {
	http.HandleFunc("GET /charges", list)
	http.HandleFunc("POST /charges", create)
	server := &http.Server{Addr: "127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "8080"), ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServe())
}
