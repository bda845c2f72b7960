// Package devserver starts what a developer's machine and the tests need beside the service: a PostgreSQL cluster
// from the binaries of the operating system, and an issuer of access tokens. Nothing in it is meant for production.
//
// It runs on Linux and macOS.
package devserver
