// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

const (
	passwordKey = `(?i:[\w-]*(?:pass[_-]?words?|passwd|pass[_-]?phrase|passcode|requirepass` +
		`|(?:store|key|trust)pass)|(?:[\w-]*[_-])?(?:pwd|pass|pw)|[\w-]*(?:bind|root|admin|user|db)_?pw` +
		`|x-[\w-]*(?:token|key|secret)){number}` +
		`|[\w-]*[a-z]P(?i:wd|ass){number}`
	credentialKey = `(?i:[\w-]*(?:token|` + locks + `[_-]?key|secret[_-]?key[_-]?base|credentials?` +
		`|signature|connection[_-]?string|secret[_-]?string|dockerconfigjson` +
		`|` + holders + `[_-]?secret|psk|erlang[_-]?cookie)` +
		`|(?:[\w-]*[_-])?(?:sig|otp|jwt|pat|salt)|tf_token_\w+){number}` +
		`|(?i:(?:[\w-]*[_-])?auth)|[\w-]*[a-z](?:Sig|Otp|Jwt|Auth|Pat|Salt)`
	locks = `(?:api|access|private|secret|signing|encryption|master|account|shared|auth|subscription` +
		`|license|genie|integration|unseal|write|admin|functions?|fernet)`
	holders = `(?:client|shared|app|consumer|api|jwt|hmac|session|webhook|signing|oauth|token)`
)

// keys say that a value follows.
func keys() []key {
	return []key{
		{
			name:     "flag",
			keywords: "pass pwd token key credential sig secret otp jwt auth bearer",
			find:     `-+(?:` + passwordKey + `|` + credentialKey + `|[\w-]*(?:authorization|bearer))`,
			example:  "--token",
			harmless: "token",
		},
		{
			name:     "password",
			keywords: "pass pwd pw x-",
			find:     passwordKey,
			example:  "DB_PASSWORD_1",
			harmless: "compass",
		},
		{
			name: "credential",
			keywords: "token key credential sig secret otp jwt auth connection dockerconfigjson psk " +
				"cookie pat salt",
			find:     credentialKey,
			example:  "RUNNER_TOKEN",
			harmless: "auth0",
		},
		{
			name:     "secret", // a credential, or the name of its Secret
			keywords: "secret",
			find:     `(?i:[\w-]*secret{number})`,
			example:  "tlsSecret",
			harmless: "secretName",
		},
		{
			name:     "secret-id", // of Vault and Consul a credential, of AWS a name
			keywords: "secret",
			find:     `(?i:[\w-]*secret[_-]?id)`,
			example:  "SecretID",
			harmless: "secret_id_accessor",
		},
		{
			name:     "authorization",
			keywords: "authorization",
			find:     `(?i:[\w-]*authorization{number})`,
			example:  "Proxy-Authorization",
			harmless: "authorizationMode",
		},
		{
			name:     "cookie",
			keywords: "cookie",
			find:     `(?i:[\w-]*cookie{number})`,
			example:  "Set-Cookie",
			harmless: "cookies",
		},
		{
			name:     "key", // of anything
			keywords: "key",
			find:     `(?i:[\w-]*key{number})`,
			example:  "APP_KEY",
			harmless: "keystore",
		},
		{
			name:     "public-key",
			keywords: "public",
			find:     `(?i:[\w-]*public[_-]?key(?:[_-]?token)?{number})`,
			example:  "publicKeyToken",
			harmless: "publicKeys",
		},
	}
}
