package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"
)

// signature is a Stripe-Signature header: the signing time, and one signature per
// active secret.
type signature struct {
	at     time.Time
	hashes [][]byte
}

// parseHeader parses a Stripe-Signature header. It refuses a time more than five
// minutes from now, because an older webhook could be a replayed recording.
func (w Webhooks) parseHeader(header string) (signature, error) {
	if w.Secret == "" { // an empty secret would accept any sender
		return signature{}, errors.New("stripe: webhook: no secret is configured")
	}
	signed, ok := parseSignature(header)
	if !ok {
		return signature{}, errors.New("stripe: webhook: missing or malformed Stripe-Signature header")
	}
	if now := w.Now(); now.Sub(signed.at).Abs() > webhook.DefaultTolerance {
		return signature{}, fmt.Errorf("stripe: webhook: signed at %s, more than %s from this machine's clock, %s",
			signed.at.UTC().Format(time.RFC3339), webhook.DefaultTolerance, now.UTC().Format(time.RFC3339))
	}
	return signed, nil
}

// parseSignature parses a header such as "t=1762248600,v1=5257a8…,v0=6ffbb5…". As
// Stripe requires, it ignores all signatures except v1.
func parseSignature(header string) (signed signature, ok bool) {
	times := 0
	for field := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "t":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return signature{}, false
			}
			signed.at = time.Unix(seconds, 0)
			times++
		case "v1":
			if hash, err := hex.DecodeString(value); err == nil && len(hash) == sha256.Size {
				signed.hashes = append(signed.hashes, hash)
			}
		}
	}
	return signed, times == 1 && len(signed.hashes) > 0
}

// covers reports whether a signature matches the payload and the secret.
func (s signature) covers(payload []byte, secret string) bool {
	want := webhook.ComputeSignature(s.at, payload, secret)
	return slices.ContainsFunc(s.hashes, func(hash []byte) bool { return hmac.Equal(hash, want) })
}
