// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact masks credentials in text for people: event notes, condition
// messages and log lines. It imports the standard library only, so a program
// can use it alone, with any logger or recorder.
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
//   - after a flag or in the arguments of a well-known client: redis-cli -a x
//   - in URLs and data source names: the password, the path of a webhook, and
//     keys in the query
//   - in statements of SQL: IDENTIFIED BY 'x'
//   - in manifests and patches of Secrets, and as private keys
//   - as tokens with the prefix of an issuer
//   - by shape: a word of 32 bytes or more of upper case, lower case and digits
//
// The rules also see a text with its escapes decoded once and twice, in the
// forms of URLs, JSON, Go and HTML. A masked value of 6 bytes or more is masked
// in the whole text, as is each quoted part of it of 4 bytes or more: a parser
// that takes half of a password for a port quotes that half.
//
// The rules keep names of objects, methods and error codes, paths, digests,
// commit hashes, UUIDs and certificates.
//
// Text does not find every credential. It misses
//
//   - a password in a sentence if it is shorter than 8 bytes or has no digit:
//     the password hunter2 is wrong
//   - a token that looks like an ID: hex, lower case or a UUID without a key
//   - a short token of an unknown kind, without a key
//   - an argument of a client that no rule knows, without a flag that says
//     password or token
//   - a password in a column of a table, or on the line after a prompt
//   - after a key such as secret, a credential that looks like the name of an
//     object
//   - after a colon and a blank, a value that looks like the code of an error:
//     password: SUMMER2024
//   - a value that looks like a placeholder: password=<hunter2
//
// A controller that reads Secrets should read each within an [Attempt], which
// masks its values in all texts. [Note] adds the limits of an Event's note.
// Functions and the methods of [SecretValues] are safe for concurrent use.
//
// # When not to use it
//
// Redaction is the last line of defense. Do not put credentials into errors,
// and do not publish redacted text outside the cluster.
package redact

// Mask replaces each credential.
const Mask = "[redacted]"
