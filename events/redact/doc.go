// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact masks credentials in text that people will read: event notes, condition messages, log lines.
//
// Errors quote what they were given. A database URL, an Authorization header, a Secret that the API server echoes: each
// has ended up in an Event of some controller, where everybody with read access to the namespace sees it.
//
//	note := redact.Text(err.Error())
//
// # Rules
//
// [Text] is one pass over the text, without regular expressions: its time is linear in the length whatever the input, and
// text without a credential is returned as it is, without an allocation. It knows credentials in URLs and data source names, Authorization
// values, sensitive key=value pairs, private keys, Secret manifests and tokens of known shape. It leaves digests, commit hashes
// and object names alone, and UUIDs that no sensitive key calls a credential.
//
// That is a net, and nets have holes. A controller that reads Secrets should register what it read with [SecretValues]: a
// registered value of 8 bytes or more is never in the output, in plain, base64 or URL-escaped form, or as Go or its JSON quotes
// it. [Note] adds the limits of an Event's note.
//
// # When not to use it
//
// Redaction is the last line. Do not put a credential into an error in the first place, and do not take redacted text for
// fit to publish outside the cluster.
package redact

// Mask stands in place of what was masked.
const Mask = "[redacted]"
