// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact masks credentials in text for people: event notes, condition
// messages and log lines.
//
// Errors quote their input. Controllers have put database URLs, Authorization
// headers and the data of Secrets into Events, which every user with read
// access to the namespace can see.
//
//	note := redact.Text(err.Error())
//
// # Rules
//
// [Text] applies a table of rules. A rule has keywords, a regular expression,
// an example and a counterexample. It is tried only where the text has one of
// its keywords, so the time is linear in the length of the text. The rules find
// credentials
//
//   - after a key of a credential, in settings, JSON, YAML, headers and structs
//     of Go: DB_PASSWORD=x, "apiKey": "x", GH_PAT=x, or any key with a random
//     value
//   - after a flag, also a short one of a well-known client: redis-cli -a x
//   - in URLs and data source names: the password, the path of a webhook, and
//     keys in the query
//   - in statements of SQL: IDENTIFIED BY 'x'
//   - in manifests of Secrets, and as private keys
//   - as tokens with the prefix of an issuer
//   - by shape: a word of 32 bytes or more of upper case, lower case and digits
//
// They keep names of objects, methods and error codes, paths, digests, commit
// hashes, UUIDs and certificates.
//
// Text does not find every credential. It misses
//
//   - a password in a sentence if it is shorter than 8 bytes or has no digit:
//     the password hunter2 is wrong
//   - a token that looks like an ID: hex, lower case or a UUID without a key
//   - a short token of an unknown kind, without a key
//   - after a key such as secret, a credential that looks like the name of an
//     object
//   - after a colon and a blank, a value that looks like the code of an error:
//     password: SUMMER2024
//   - a value that looks like a placeholder: password=<hunter2
//
// A controller that reads Secrets should register their values with
// [SecretValues], which masks the values that it keeps. [Note] adds the limits
// of an Event's note. All functions are safe for concurrent use.
//
// # When not to use it
//
// Redaction is the last line of defense. Do not put credentials into errors,
// and do not publish redacted text outside the cluster.
package redact

// Mask replaces each credential.
const Mask = "[redacted]"
