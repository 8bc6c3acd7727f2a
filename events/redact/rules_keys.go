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

// keyRules find the value after a key that says what it is.
func keyRules() []rule {
	return []rule{
		{
			name:     "value after an equals sign",
			after:    "password credential authorization",
			find:     `{is}{bare}`,
			keep:     `{harmless}|{open}`,
			leak:     `user=bob password=<<{p:12}>>, host=db`,
			harmless: `password=${DB_PASSWORD} token=<nil> pwd=***`,
		},
		{
			name:     "value of ODBC in braces",
			after:    "password",
			find:     `=\{([^{}"\s]+)\}(?:;|$)`,
			keep:     `[A-Za-z_.]*`,
			leak:     `DRIVER={ODBC};UID=sa;PWD={<<le;ek>>};Encrypt=yes`,
			harmless: `url=x?password={password};`,
		},
		{
			name:     "quoted value after an equals sign",
			after:    "password credential authorization cookie",
			find:     `{isquoted}{quoted}(?:["'\\]* -> {quoted})?`,
			keep:     `{harmless}|.`,
			leak:     `{"user":"bob","password":"<<{p:12}>>"}`,
			harmless: `{"password":"","token":"<redacted>"}`,
		},
		{
			name:     "password after a colon",
			after:    "password",
			find:     `{loose}`,
			keep:     `{harmless}|{open}|{prose}|{code}|[({*%].*`,
			leak:     `password: <<correct-horse>>, retrying`,
			harmless: `password: required; passwd: /etc/passwd; pwd: ORA-01017`,
		},
		{
			name:     "quoted password after a colon",
			after:    "password",
			find:     `(?:{parent}|{colon}{quoted})`,
			keep:     `{harmless}|{code}|.`,
			leak:     `password: "<<correct horse>>": access denied`,
			harmless: `password: "required"`,
		},
		{
			name:     "credential after a colon",
			after:    "credential authorization",
			find:     `{loose}`,
			keep:     `{harmless}|{open}|{prose}|{code}|{dashed}:?|[({*%].*`,
			leak:     `RUNNER_TOKEN: <<{u:29}>> is not valid`,
			harmless: `token: expired; auth: AccessDeniedException; signature: my-volume`,
		},
		{
			name:     "quoted credential after a colon",
			after:    "credential authorization cookie",
			find:     `(?:{parent}|{colon}{quoted})`,
			keep:     `{harmless}|{code}|{dashed}|.`,
			leak:     `apiKey: "<<{a:24}>>" is not accepted`,
			harmless: `token: "my-volume" is not mounted`,
		},
		{
			name:     "UUID or bootstrap token after a colon",
			after:    "credential",
			find:     `(?:{colon}| +["']?)({uuid}|[a-z0-9]{6}\.[a-z0-9.]{16})(?:[^\w.-]|$)`,
			leak:     `discovery with token: <<abcdef.0123456789abcdef>> failed`,
			harmless: `token: abcdef.0123456789abcde`,
		},
		{
			name:     "secret after an equals sign",
			after:    "secret",
			find:     `{is}{bare}`,
			keep:     `{harmless}|{open}|{name}`,
			leak:     `secret=<<{a:20}>>, region=x`,
			harmless: `secret=default/db-creds`,
		},
		{
			name:     "quoted secret",
			after:    "secret",
			find:     `(?:{parent}|(?:{isquoted}|{colon}){quoted})`,
			keep:     `{harmless}|{name}|.`,
			leak:     `secret: "<<{a:20}>>"`,
			harmless: `secret: "regcred"`,
		},
		{
			name:     "secret after a colon",
			after:    "secret",
			find:     `{loose}`,
			keep:     `{harmless}|{open}|{name}[.:]?|{prose}|{code}|[({*%].*`,
			leak:     `secret: <<{a:20}>> is not base64`,
			harmless: `secret: default/db-creds is being deleted`,
		},
		{
			name:     "value on the next line",
			after:    "password credential secret authorization cookie",
			find:     `{below}(?:{entry}|{scalar}(?:{quoted}|{bare}))`,
			keep:     `{harmless}|{open}|{prose}|{code}|{name}|[({*%].*`,
			leak:     "password:\n  <<{a:12}>>",
			harmless: "password:\n  file: a",
		},
		{
			name:     "block of YAML",
			after:    "password credential secret authorization cookie",
			find:     `{after}:[ \t]+(?:[!&]\S*[ \t]+){0,2}{block}`,
			leak:     "password: |\n  <<{a:12}\n  {a:12}>>\nnext: fine",
			harmless: "password:\n  file: a",
		},
		{
			name:     "value in brackets",
			after:    "password credential secret authorization cookie",
			find:     `{sep}{brackets}`,
			keep:     `{word}`,
			leak:     `map[X-Api-Key:[<<{a:24}>>] X-Request-Id:[1]]`,
			harmless: `map[Accept:[text/plain]]`,
		},
		{
			name:  "word of a sentence after a key",
			after: "password credential secret authorization cookie",
			find: "{colon}(?P<keep>[A-Za-z]{1,24}) " +
				"(?:[A-Za-z']{1,24}(?:[^\\w-]|$)|[\"'`]|\\[redacted\\])",
			harmless: `token: swordfish was used`,
		},
		{
			name:  "scheme of an authorization",
			after: "password credential secret authorization cookie",
			find: "{sep}(?P<keep>(?i:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)) +" +
				`(?:{quoted}|{bare})`,
			keep:     `{harmless}|{open}|[a-z]{1,12}`,
			leak:     `authorization=Basic <<x1y>>, retrying`,
			harmless: `Authorization: Bearer required`,
		},
		{
			name:     "authorization of another scheme",
			after:    "authorization",
			find:     `{sep}(?P<keep>[A-Za-z-]+) +(?:({token}*\d{token}*)|\[redacted)`,
			keep:     `.{0,7}`,
			leak:     `Authorization: Hawk-Token <<{a:32}>>`,
			harmless: `authorization: denied by policy`,
		},
		{
			name:     "pairs of a cookie",
			after:    "cookie",
			find:     `{sep}([^\s;,="']+=[^\s;,"']*(?:; *[\w.-]+=[^\s;,"']*)*)`,
			leak:     `Set-Cookie: <<sid={h:32}>>; HttpOnly is too long`,
			harmless: `cookie: missing`,
		},
		{
			name: "element of XML",
			keywords: "<pass <pwd <db <api <token <secret <client <auth <key <access <private " +
				"<credential <user",
			find: `<[\w-]*(?i:password|passwd|passphrase|pwd|token|key|secret|credentials?)>` +
				"(?:([^\\s<\"'`][^<]*)|([^<]*)</)",
			leak:     `<password><<{p:12}>></password>`,
			harmless: `--password=<password> is required`,
		},
		{
			name:     "rejected value of a field",
			after:    "password credential authorization cookie",
			find:     `{after}: (?i:(?:invalid|duplicate|unsupported) value|not found): {quoted}`,
			keep:     `{harmless}|.`,
			leak:     `spec.password: Invalid value: "<<{p:12}>>": must be longer`,
			harmless: `spec.password: Invalid value: "": must not be empty`,
		},
		{
			name:     "rejected secret of a field",
			after:    "secret",
			find:     `{after}: (?i:(?:invalid|duplicate|unsupported) value|not found): {quoted}`,
			keep:     `{harmless}|{name}|.`,
			leak:     `spec.secret: Invalid value: "<<{p:12}>>": must be longer`,
			harmless: `spec.secret: Not found: "db-credentials"`,
		},
		{
			name:     "rejected value of a field without quotes",
			after:    "password credential secret authorization cookie",
			find:     `{after}: (?i:(?:invalid|duplicate|unsupported) value): {bare}`,
			keep:     `{harmless}|{open}|{prose}|{code}`,
			leak:     `denied: password: invalid value: <<hunter2pass>>`,
			harmless: `spec.token: Invalid value: must be a string`,
		},
		{
			name:     "rejected choice",
			after:    "password credential secret authorization cookie",
			find:     `(?P<keep>{after}: (?i:unsupported value): "(?:[\w-]{0,8}|[^"0-9]*)")`,
			harmless: `spec.auth: Unsupported value: "OAuth2": supported values: "none"`,
		},
		{
			name:  "rejected name of an object",
			after: "secret",
			find: `(?P<keep>{after}: (?i:(?:invalid|duplicate) value): "[^"]*"` +
				`: a (?:lowercase RFC 1|DNS-1))`,
			harmless: `spec.tlsSecret: Invalid value: "My_Secret": a lowercase RFC 1123 subdomain`,
		},
		{
			name:     "pair of a name and a value",
			keywords: "name key path",
			find: `(?i:name|key|path)["'\\ ]*[:=] *["'\\]*[\w./~-]*{sensitive}` +
				"{number}[\"'`\\\\,; \\t\\r\\n]+(?:n +)?(?i:value)[\"'`\\\\ ]*[:=][ \\t]*" +
				`(?:{block}|\s*(?:{entry}|{scalar}(?:{quoted}|{bare})))`,
			keep:     `{harmless}|{open}|.`,
			leak:     `[{"op":"replace","path":"/data/password","value":"<<hunter2pass>>"}]`,
			harmless: `{"name":"DB_USER","value":"hunter2pass"}`,
		},
		{
			name:     "pair of a value and a name",
			keywords: "value",
			find: "(?i:value)[\"'`\\\\ ]*[:=][ \\t]*{quoted}[\"'`\\\\, ]+" +
				`(?i:name|key|path)["'\\ ]*[:=] *["'\\]*[\w./~-]*{sensitive}{number}(?:[^\w.-]|$)`,
			keep:     `{harmless}|.`,
			leak:     `{"op":"test","value":"<<hunter2pass>>","path":"/spec/db/password"}`,
			harmless: `{"value":"hunter2pass","name":"DB_USER"}`,
		},
		{
			name:     "value of an environment variable",
			keywords: "env[",
			find:     `env\[\d+\]\.value: Invalid value: {quoted}`,
			keep:     `{harmless}|[a-z]{1,8}|\d*|[\w+]+://[^@]*`,
			leak:     `spec.containers[0].env[1].value: Invalid value: "<<Clove-Oil-9>>": may not be specified`,
			harmless: `spec.containers[0].env[1].value: Invalid value: "true": must be a string`,
		},
		{
			name:     "key that a quotation cut",
			keywords: "...",
			find: `\.\.\.\|?["\\]*[\w-]*(?:word|ord|oken|ken|cret|ret|[Kk]ey|hrase|tials?)` +
				`["\\]+ *: *{quoted}`,
			keep:     `{harmless}|.`,
			leak:     `error found in #10 byte of ...|ssword":"<<{a:14}>>"|..., bigger context`,
			harmless: `error found in #10 byte of ...|eplicas":"three"|..., bigger context`,
		},
		{
			name:     "ID of a secret that is a UUID",
			after:    "secret-id",
			find:     `(?:{sep}|[ \t]+)["'\\]*({uuid})(?:[^\w-]|$)`,
			leak:     `login with role_id=r secret_id=<<{h:8}-{h:4}-{h:4}-{h:4}-{h:12}>> failed`,
			harmless: `SecretId: prod/db-credentials was not found`,
		},
		{
			name:     "random value of any key",
			after:    "key",
			find:     `(?:{is}|{colon})(?:{quoted}|{bare})`,
			keep:     `{ordinary}`,
			leak:     `MAILER_KEY=<<{h:32}>> is not active`,
			harmless: `cacheKey=runs/default/nightly topologyKey: topology.kubernetes.io/zone`,
		},
		{
			name:     "public key",
			after:    "public-key",
			find:     "{sep}[\"'`\\\\]*(?P<keep>[^\\s\"'`,;]+)",
			harmless: `publicKeyToken=b77a5c561934e089 of an assembly`,
		},
		{
			name:     "quoted value after a blank",
			after:    "password credential",
			find:     ` +{quoted}`,
			keep:     `{harmless}|{name}|{code}|-.*|.{0,5}|(?s:.* .*)`,
			leak:     `ipsec.secrets: cannot parse PSK "<<{a:24}>>"`,
			harmless: `cannot read token "registry" of 'api'`,
		},
		{
			name:     "password in a sentence",
			after:    "password",
			find:     ` +(?:is +|was +)?["']?([^\s"'=:]{8,})`,
			keep:     `{ordinary8}`,
			leak:     `login as root with password <<Summer2026!>> failed`,
			harmless: `password authentication failed for user-7`,
		},
		{
			name:     "random value in a sentence",
			after:    "credential secret key",
			find:     ` +(?:is +|was +)?["']?([^\s"'=:,]{16,})`,
			keep:     `{ordinary}`,
			leak:     `using token <<{a:20}>> for the registry`,
			harmless: `secret istio-ca-secret-7f9c8d6b5c has no key`,
		},
		{
			name:     "argument of a setting",
			keywords: "masterauth requirepass rootpw",
			find:     `(?i:{keyword}) +([^\s"']+)`,
			keep:     `{harmless}|-.*`,
			leak:     `redis.conf line 7: masterauth <<{a:24}>>`,
			harmless: `requirepass is not set`,
		},
		{
			name:     "AUTH of Redis and of mail",
			keywords: "AUTH",
			find:     `AUTH +([^\s"',;:]{6,})`,
			keep: `{harmless}|[A-Z-]+|(?i:command|method|mechanism|request|response|header|server` +
				`|service|plugin|level|login|user)s?`,
			leak:     `AUTH <<swordfish>> failed with reason: -WRONGPASS`,
			harmless: `AUTH command is not supported`,
		},
		{
			name:     "user of Redis",
			keywords: "SETUSER",
			find:     `(?i:setuser) [^\n]*?>([^\s>]+)`,
			leak:     `ACL SETUSER app on ><<{a:16}>> ~cached:* +get is malformed`,
			harmless: `ACL SETUSER app on nopass`,
		},
		{
			name:     "netrc",
			keywords: "machine default",
			find:     `(?:machine +\S+|default)\s+login +\S+\s+password +["']?([^\s"']+)`,
			leak:     `machine git.example.com login ci password <<guest-77>> is not complete`,
			harmless: `default login of the machine needs a password`,
		},
		{
			name:     "password file of libpq",
			keywords: "*:5432:",
			find:     `[^\s:]+:5432:[^\s:]+:[^\s:]+:([^\s:]+)`,
			leak:     `wrong line db.example.com:5432:runs:app:<<{a:16}>>`,
			harmless: `dial tcp 10.0.0.1:5432: connect: no route to host`,
		},
		{
			name:     "constant of PHP",
			keywords: "define(",
			find:     `define\( *["']\w*(?:KEY|SALT|PASSWORD|SECRET|TOKEN)["'], *["']([^"']+)`,
			keep:     `{word}`,
			leak:     `define('AUTH_KEY', '<<{p:32}>>') is repeated`,
			harmless: `define('WP_DEBUG', 'true')`,
		},
		{
			name:     "counts of tests",
			keywords: "pass",
			find:     `(?P<keep>(?i:pass[=:] *\d{1,8}[ ,;]+fail))`,
			harmless: `suite finished: pass=120 fail=3`,
		},
	}
}
