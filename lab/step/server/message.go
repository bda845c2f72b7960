package server

import (
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Message is a protocol message with its type and length.
type Message []byte

// Kind returns the type.
func (m Message) Kind() byte { return m[0] }

// Body returns the message behind its length.
func (m Message) Body() []byte { return m[5:] }

// Encode returns messages in the protocol's form.
func Encode(messages ...pgproto3.Message) (raw Message) {
	for _, m := range messages {
		raw, _ = m.Encode(raw) // fails only for bodies beyond the protocol's limit
	}
	return raw
}

// A lock timeout is a step, so the server's own clock must never reach one.
var (
	timeoutText  = regexp.MustCompile(`(set local lock_timeout = )'\w+'`)
	timeoutValue = regexp.MustCompile(`^[1-9]\d*m?s$`)
)

func withoutTimeout(sql string) string {
	if !strings.Contains(sql, "lock_timeout") {
		return sql
	}
	return timeoutText.ReplaceAllString(sql, "${1}0")
}

// BindWithoutTimeout replaces the lock timeout among a statement's parameters, and reports
// whether there was one.
func BindWithoutTimeout(m Message, sql string) (Message, bool) {
	if !strings.Contains(sql, "lock_timeout") {
		return m, false
	}
	if !strings.Contains(sql, "set_config('lock_timeout'") {
		return m, timeoutText.MatchString(sql)
	}
	var bind pgproto3.Bind
	if err := bind.Decode(m.Body()); err != nil {
		return m, false
	}
	limited := false
	for i, p := range bind.Parameters {
		if timeoutValue.Match(p) {
			bind.Parameters[i], limited = []byte("0"), true
		}
	}
	return Encode(&bind), limited
}
