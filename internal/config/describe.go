package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// Setting is one setting that is in force, as people may see it.
type Setting struct{ Name, Value string }

// hiddenValue replaces what nobody may see.
const hiddenValue = "xxxxx"

// Describe returns all settings of cfg in their order in [Config], without secrets.
func Describe(cfg Config) []Setting {
	var settings []Setting
	values := reflect.ValueOf(cfg)
	for _, field := range reflect.VisibleFields(values.Type()) {
		hide := withoutPassword
		if isSecret(field) {
			hide = withoutSecret
		}
		settings = append(settings, Setting{variable(field), textOf(values.FieldByIndex(field.Index), hide)})
	}
	return settings
}

// isSecret reports whether a setting may contain a secret. Such a setting is removed from
// the environment when it is read.
func isSecret(field reflect.StructField) bool {
	return strings.HasSuffix(field.Tag.Get("env"), ",unset")
}

// textOf returns a value as it is written in the environment, and hides what must not be
// seen of each of its parts.
func textOf(value reflect.Value, hide func(string) string) string {
	if value.Kind() != reflect.Slice {
		return hide(fmt.Sprint(value.Interface()))
	}
	parts := make([]string, value.Len())
	for i := range parts {
		parts[i] = hide(fmt.Sprint(value.Index(i).Interface()))
	}
	return strings.Join(parts, ",")
}

// withoutSecret returns where a URL leads to, and nothing of any other value. A user is
// hidden because it can be a token, and so are parameters, except for sslmode.
func withoutSecret(value string) string {
	if value == "" {
		return ""
	}
	u, err := parseDatabase(value)
	if err != nil || u.Host == "" && u.Path == "" || u.Scheme == "" {
		return hiddenValue
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		shown.User = url.User(hiddenValue)
	}
	if mode := u.Query().Get("sslmode"); mode != "" {
		shown.RawQuery = "sslmode=" + url.QueryEscape(mode)
	}
	return shown.String()
}

// withoutPassword hides the user in a URL, and returns any other value as it is.
func withoutPassword(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return value
	}
	u.User = url.User(hiddenValue)
	return u.String()
}
