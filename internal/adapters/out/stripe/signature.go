package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"
)

// signature is a Stripe-Signature header: when Stripe signed a webhook, and one signature
// for each secret in use.
type signature struct {
	at     time.Time
	hashes [][]byte
}

// parseHeader parses a Stripe-Signature header, and refuses a time that is more than five
// minutes from now. An older webhook could be a recording that somebody replays.
func (w Webhooks) parseHeader(header string) (signature, error) {
	if w.Secret == "" { // anybody can sign with an empty secret
		return signature{}, errors.New("stripe: webhook: no secret is configured")
	}
	signed, ok := parseSignature(header)
	if !ok {
		return signature{}, errors.New("stripe: webhook: malformed signature header")
	}
	if w.Now().Sub(signed.at).Abs() > webhook.DefaultTolerance {
		return signature{}, errors.New("stripe: webhook: the signature is not recent")
	}
	return signed, nil
}

// parseSignature parses a header such as "t=1762248600,v1=5257a8…,v0=6ffbb5…". As Stripe
// asks for, it ignores all signatures but v1.
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

// covers reports whether one of the signatures is that of a payload by the secret.
func (s signature) covers(payload []byte, secret string) bool {
	want := webhook.ComputeSignature(s.at, payload, secret)
	return slices.ContainsFunc(s.hashes, func(hash []byte) bool { return hmac.Equal(hash, want) })
}
