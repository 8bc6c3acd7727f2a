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
// [Text] makes one pass over the text, without regular expressions. Its time is
// linear in the length for any input. If there is no credential, it returns the
// same string without an allocation. It finds credentials in URLs and data
// source names, Authorization values, sensitive key=value pairs, private keys,
// Secret manifests, and tokens of known shape. It keeps digests, commit hashes
// and object names. It masks a UUID only after a sensitive key.
//
// Text does not find every credential. It misses
//
//   - a password in a sentence: the password hunter2 is wrong
//   - an unknown kind of token without a sensitive key
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
