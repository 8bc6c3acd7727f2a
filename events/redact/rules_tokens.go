// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

// objectPrefixes begin tokens, and may begin the name of an object.
const objectPrefixes = "gldt- glrt- glptt- glcbt- glft- glsoat- glimt- nvapi- " +
	"tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-"

// tokenRules find tokens by their shape: a prefix of their issuer, or random
// text.
func tokenRules() []rule {
	return []rule{
		{
			name:     "bearer token",
			keywords: "bearer",
			find:     "(?i:bearer) +({token}{8,})(?:[^\\w.~+/=\"'`\\\\-]|$)",
			keep:     `[A-Za-z~+/-]{8,19}|[a-z_]+=\d*`,
			leak:     `token rejected: Bearer <<{a:36}>> is not known`,
			harmless: `Bearer authentication is required`,
		},
		{
			name:     "quoted bearer token",
			keywords: "bearer",
			find:     "(?i:bearer) +(?:\\\\?\"({token}{8,})\\\\?\"|'({token}{8,})'|`({token}{8,})`)",
			leak:     `the value of Bearer "<<{h:40}>>" has expired`,
			harmless: `Bearer "abc"`,
		},
		{
			name:     "user and password in base64",
			keywords: "basic",
			// Four characters of base64 hold three bytes. One of them is a colon.
			find: `(?i:basic) +((?:[\w+/]{4})*` +
				`(?:O[g-v]|[\w+/][DTjz][o-r]|[\w+/]{2}[AEIMQUYcgkosw048]6)[\w+/]*[=.]*)`,
			// The first byte is not a printable character.
			keep: `(?:.{4})*(?:[^I-Za-f]|.[^C-HS-Xi-nyz0-3]` +
				`|..(?:[CDGHKLOPSTWXabefijmnqruvyz2367+/]|[AEIMQUYcgkosw048][A-Za-f])).*|.{0,3}`,
			leak:     `sent Basic <<YTpi>> to the registry`,
			harmless: `Basic YWJj has no colon`,
		},
		{
			name:     "private key in PEM",
			keywords: "-----begin",
			find:     `[\w-]*?(-----BEGIN.{0,37}?PRIVATE KEY(?s:.*?)(?:-----END(?:.{0,43}?-----)?|\z))`,
			leak:     `bad key: <<-----BEGIN PRIVATE KEY----- {b:64} -----END PRIVATE KEY----->> again`,
			harmless: `-----BEGIN CERTIFICATE----- abc -----END CERTIFICATE-----`,
		},
		{
			name:     "JSON Web Token",
			keywords: "eyJ",
			find:     `[_-]*(eyJ[\w-]{7,}{token}*)`,
			leak:     `invalid token <<eyJ{w:33}.eyJ{w:60}.{w:43}>>: signature is invalid`,
			harmless: `eyJabc`,
		},
		{
			name:     "prefix with one meaning, 2 bytes",
			keywords: "AGE-SECRET-KEY-1 sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-v1- sntrys_ sntryu_",
			find:     `[_-]*({keyword}[\w-]{2,}{token}*)`,
			leak:     `Unexpected token 's', "<<sk-proj-{a:2}>>"... is not valid JSON`,
			harmless: `pod task-proj-x2 is gone`,
		},
		{
			name: "prefix with one meaning, 4 bytes",
			keywords: "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- GOCSPX- dckr_pat_ dckr_oat_ " +
				"dop_v1_ doo_v1_ dor_v1_ ops_eyJ pypi-AgEI pscale_tkn_ pscale_pw_ pscale_oauth_ xapp-1-",
			find:     `[_-]*({keyword}[\w-]{4,}{token}*)`,
			leak:     `fatal: Authentication failed for <<ghp_{a:36}>>`,
			harmless: `ghp_abc`,
		},
		{
			name:     "prefix with one meaning, 8 bytes",
			keywords: "glsa_ rk_live_ rk_test_ sk_live_ sk_test_ shpat_ shpca_ shppa_ shpss_ sq0atp- sq0csp-",
			find:     `[_-]*({keyword}[\w-]{8,}{token}*)`,
			leak:     `No such API key: <<sk_live_{a:24}>>`,
			harmless: `sk_live_mode`,
		},
		{
			name:     "prefix with one meaning, 16 bytes",
			keywords: "CFPAT- HRKU- NRAK- PMAK- apify_api_ figd_ rubygems_ whsec_ xkeysib- lin_api_ lsv2_pt_",
			find:     `[_-]*({keyword}[\w-]{16,}{token}*)`,
			leak:     `nr: <<NRAK-{u:27}>> is not a user key`,
			harmless: `rubygems_version`,
		},
		{
			name:     "prefix that a name may have, and random text",
			keywords: "ATATT3 ATBB fm2_ fo1_ glc_ gsk_ hf_ npm_ ntn_ pplx- phx_ rdme_ r8_ sbp_ sgp_",
			find:     `[_-]*({keyword}[A-Za-z0-9]{20,}{tail}){stop}`,
			keep:     `{keyword}[A-Za-z]*(?:[.~+/=].*)?`,
			leak:     `npm ERR! 401 <<npm_{a:36}>>`,
			harmless: `npm_config_registry_override_is_ignored by this runner`,
		},
		{
			name:     "prefix that a name may have, and longer random text",
			keywords: "pul- xai- LTAI",
			find:     `[_-]*((?:LTAI[A-Za-z0-9]{12}|(?:pul|xai)-[A-Za-z0-9]{30})[A-Za-z0-9]*{tail}){stop}`,
			keep:     `[^0-9]*`,
			leak:     `xai: <<xai-{a:80}>> is blocked`,
			harmless: `pod xai-operator-controller-manager-7b9f8c-abcde is not ready`,
		},
		{
			name:     "prefix of an object's name, and what such a name cannot have",
			keywords: objectPrefixes,
			find:     `[_-]*({keyword}[\w-]{8,}{token}*)`,
			keep:     `[^A-Z_.~+/=]*(?:[.~+/=].*)?`,
			leak:     `runner could not register with <<glrt-{w:20}>>`,
			harmless: `statefulset glrt-runner-of-team is paused`,
		},
		{
			name:     "prefix of an object's name, and random text",
			keywords: objectPrefixes,
			find:     `[_-]*({keyword}[A-Za-z0-9]{20,}{tail}){stop}`,
			keep:     `[^0-9]*`,
			leak:     `the server refused <<glrt-{l:24}>>: 401`,
			harmless: `daemonset nvapi-device-plugin-daemonset-abc12 is not ready`,
		},
		{
			name:     "key of AWS, alone or with its secret",
			keywords: "AKIA ASIA ABIA ACCA",
			find:     `[_-]*({keyword}[A-Z0-9]{16}(?:[:,|]{token}{40}|[.~+/=]{token}*)?){stop}`,
			leak:     `sts: <<ASIA{u:16}>> is expired`,
			harmless: `AKIA{u:15} and AKIA{l:16}`,
		},
		{
			name:     "key of AWS in lower case",
			keywords: "akia asia",
			find:     `[_-]*((?:akia|asia)[A-Za-z0-9]{16})(?:[^\w-]|$)`,
			keep:     `[^2-7]*`,
			leak:     `the server refused <<akia{l:12}2345>>: 401`,
			harmless: `asiapacificregionsouth`,
		},
		{
			name:     "prefix and hex",
			keywords: "key- SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKa SKb SKc SKd SKe SKf dapi",
			find:     `[_-]*((?:key-|SK)[0-9a-fA-F]{32}|dapi[0-9a-fA-F]{32}[\w-]*)(?:[^\w-]|$)`,
			leak:     `mailgun: <<key-{h:32}>> forbidden`,
			harmless: `key-{h:31}`,
		},
		{
			name:     "token of Slack",
			keywords: "xoxa- xoxb- xoxe- xoxp- xoxr- xoxs-",
			find:     `[_-]*({keyword}\d[\w-]{3,}{token}*)`,
			leak:     `slack: invalid_auth for <<xoxb-{d:12}-{d:12}-{a:24}>>`,
			harmless: `release xoxb-chart-name failed`,
		},
		{
			name:     "private key in base64",
			keywords: "LS0tLS1CRUdJTi",
			find:     `[_-]*({keyword}{token}*)`,
			keep:     `{keyword}(?:BDRVJU|BQVUJM).*`,
			leak:     `tls.key is <<LS0tLS1CRUdJTi{b:80}>>`,
			harmless: `caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t`,
		},
		{
			name:     "private key in DER",
			keywords: "MII MHcCAQEEI MIGkAgEBBD MIGHAgEAMBMGByqGSM49 MIG2AgEAMBAGByqGSM49 MC4CAQAwBQYDK2Vw",
			find: `[_-]*((?:MII\w{3}IBA|MHcCAQEEI|MIGkAgEBBD` +
				`|MIGHAgEAMBMGByqGSM49|MIG2AgEAMBAGByqGSM49|MC4CAQAwBQYDK2Vw){token}*)`,
			leak:     `cannot parse <<MIIEpAIBAAKCAQEA{b:200}>> as a private key`,
			harmless: `x509: cannot verify MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUF`,
		},
		{
			name: "prefix and a dot",
			keywords: "hvs. hvb. hvr. ya29. SG. sl. v1.0- sha256~ " +
				"dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
			find: `[_-]*((?:hv[sbr]\.[\w-]{8}|ya29\.[\w-]{8}|SG\.[\w-]{16}|sl\.[\w-]{40}` +
				`|v1\.0-[\w-]{98}|sha256~[\w-]{20}|dp\.(?:pt|st|ct|sa|scim|audit)\.){token}*)`,
			leak:     `vault: <<hvs.{w:90}>> is not a valid token`,
			harmless: `s.example.com, sl.example.com and hvs.example.com resolve to nothing`,
		},
		{
			name:     "old token of Vault",
			mixed:    true,
			find:     `(s\.[A-Za-z0-9]{24})(?:[^\w-]|$)`,
			keep:     `{unmixed}`,
			leak:     `permission denied for <<s.{a:24}>>`,
			harmless: `s.{l:24}`,
		},
		{
			name:     "long random word",
			mixed:    true,
			find:     `{run}`,
			each:     `([A-Za-z0-9][\w-]{31,}={0,2})`,
			keep:     `{unmixed}|{names}|[A-Za-z]{1,4}[0-9a-f]+`,
			leak:     `cohere does not know <<{a:40}>>`,
			harmless: `TestReconcileDeploymentCreatesService2WhenMissing failed`,
		},
		{
			name:     "long random text of base64",
			mixed:    true,
			find:     `([A-Za-z0-9][\w+/-]{39,}={0,2})(?:[^\w+/.~=-]|$)`,
			keep:     `{unmixed}|{names}|.*/[a-z]{2,}[A-Z]?[a-z]*`,
			leak:     `secret key <<{b:60}>>`,
			harmless: `x509: cannot verify AgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQ`,
		},
		{
			name:     "prefix and a random tail",
			mixed:    true,
			find:     `{run}`,
			each:     `\b((?:[A-Za-z][A-Za-z0-9]{1,14}_){1,3}[A-Za-z0-9]{14,}(?:_[A-Za-z0-9]+)*)`,
			keep:     `{unmixed}|{names}`,
			leak:     `netlify deploy with <<nfp_{a:36}>> failed`,
			harmless: `npm_config_registry_Override2IsIgnored`,
		},
		{
			name: "prefix and a long tail of hex or lower case",
			find: `{run}`,
			each: `\b([A-Za-z]{2,8}_(?:live_|test_)?[a-z0-9]{35,})`,
			keep: `[^0-9]*|(?i:sha|md5|hash|sum|commit|rev|git|layer|image|blob|run|job|pod|vol|k8s` +
				`|cache|index).*`,
			leak:     `buildkite agent <<bkua_{h:40}>> is not in the organization`,
			harmless: `layer_{h:40} and sha256_{h:64} exist`,
		},
		{
			name:     "parts of random text",
			mixed:    true,
			find:     `((?:[\w-]+\.){1,4}[\w-]{20,})(?:[^\w.-]|$)`,
			keep:     `{unmixed}|{names}|.{0,39}`,
			leak:     `discord closed the gateway for <<MT{a:24}.{a:6}.{w:38}>>`,
			harmless: `org.springframework.beans.factory.UnsatisfiedDependencyException2 was thrown`,
		},
		{
			name:     "long word of upper case and digits",
			find:     `{run}`,
			each:     `\b([A-Z0-9]{3,5}-[A-Z0-9]{26,}|[A-Z0-9]{34,})`,
			keep:     `[^0-9]*|[0-9A-F-]*|[A-Z]{3,5}-[0-9A-F]*`,
			leak:     `vultr: <<{u:36}>> is invalid`,
			harmless: `0A1B2C3D4E5F60718293A4B5C6D7E8F9A0B1C2D3`,
		},
		{
			name: "certificate or public key",
			keywords: "MII MFkw MHYw MIGf LS0tLS1CRUdJTiBDRVJU LS0tLS1CRUdJTiBQVUJM " +
				"AAAAB3NzaC AAAAC3NzaC AAAAE2Vj",
			find: `(?P<keep>(?:MII[A-Za-z0-9+/]{3}CC|MIIBIjANBg|MFkwEwYH|MHYwEAYH|MIGfMA0G` +
				`|LS0tLS1CRUdJTi|AAAA[BCE][23])[A-Za-z0-9+/]*={0,2})`,
			harmless: `x509: cannot verify MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQG` +
				`EwJJRTESMBAGA1UEChMJ`,
		},
		{
			name:     "prefix and a UUID",
			keywords: "sk-lf- xaat-",
			find:     `[_-]*({keyword}{uuid})`,
			leak:     `langfuse: <<sk-lf-{h:8}-{h:4}-{h:4}-{h:4}-{h:12}>> unauthorized`,
			harmless: `pvc-{h:8}-{h:4}-{h:4}-{h:4}-{h:12} is lost`,
		},
		{
			name:     "hash of a password",
			keywords: "$2a$ $2b$ $2x$ $2y$ $1$ $5$ $6$ $7$ $y$ $apr1$ $argon2 $scrypt $pbkdf2 SCRAM-SHA-",
			find:     "((?:\\$[\\w-]+\\$|SCRAM-SHA-\\d+\\$\\d+:)[^\\s\"'`]{20,})",
			leak:     `user ops has the hash <<$2b$12${a:53}>>`,
			harmless: `SASL authentication failed using SCRAM-SHA-512: user does not exist`,
		},
		{
			name:     "hash of a password in LDAP",
			keywords: "{SSHA {SHA {SMD5} {MD5} {CRYPT} {PBKDF2 {ARGON2",
			find:     "(\\{(?:S?SHA|S?MD5|CRYPT|PBKDF2|ARGON2)[\\w-]*\\}[^\\s\"'`]{10,})",
			leak:     `userPassword: <<{SSHA}{b:36}>>`,
			harmless: `the scheme {SSHA} is not known`,
		},
		{
			name:     "file of Ansible Vault",
			keywords: "$ANSIBLE_VAULT",
			find:     `({keyword};[\w.;]+(?:\s+[0-9a-f]{20,})*)`,
			leak:     `ansible: <<$ANSIBLE_VAULT;1.1;AES256 {h:80}>> cannot be decrypted`,
			harmless: `$ANSIBLE_VAULT is not set`,
		},
		{
			name:     "digest in base64",
			keywords: "h1: SHA256: SHA384: SHA512: sha256- sha384- sha512-",
			find:     `{keyword}(?P<keep>[\w+/]{40,}={0,2})`,
			harmless: `checksum mismatch: h1:2Mh7dZ1SvS1RQk8vJ1v0xkzvTt7y6JwQm0oB9VnYp3c=`,
		},
		{
			name:     "ID of a request",
			keywords: "host requestid request-id x-amz-id-2",
			find:     `(?i:host *-?id|request *-?id|x-amz-id-2)["':= ]*(?P<keep>[\w+/=-]+)`,
			harmless: `host ID Uuag1LuByRx9e6j5Onimru9pO4ZVKnJ2Qz7C1NPcfTWAtRPfTaOFg==: NoSuchBucket`,
		},
	}
}
