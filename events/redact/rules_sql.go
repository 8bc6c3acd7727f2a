// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

// sqlRules find the passwords in statements of SQL.
func sqlRules() []rule {
	return []rule{
		{
			name:     "IDENTIFIED BY",
			keywords: "IDENTIFIED",
			find: `IDENTIFIED +(?:WITH +\S+ +)?(?:BY|AS) +(?:PASSWORD +)?` +
				`(?:{quoted}|([^\s"';,)]+))(?:["']? +REPLACE +(?:{quoted}|(\w+)))?`,
			leak:     `ALTER USER john IDENTIFIED BY '<<{a:8}>>' REPLACE '<<{a:8}>>': ORA-28008`,
			harmless: `user is IDENTIFIED EXTERNALLY`,
		},
		{
			name:     "identified by, in lower case",
			keywords: "create alter",
			find: `(?i:(?:create|alter) +user +[^\n]{1,80}? +identified +(?:with +\S+ +)?(?:by|as) +` +
				`(?:password +)?)(?:{quoted}|([^\s"';,)]+))`,
			leak:     `alter user app identified by '<<{p:12}>>'`,
			harmless: `create user app identified externally`,
		},
		{
			name:     "PASSWORD and a literal",
			keywords: "PASSWORD",
			find:     `\w*PASSWORD(?: *= *| +| *\( *)N?{quoted}`,
			leak:     `CREATE LOGIN app WITH PASSWORD = N'<<{p:14}>>', CHECK_POLICY = OFF: Msg 15247`,
			harmless: `ALTER ROLE app PASSWORD NULL: permission denied`,
		},
		{
			name:     "password and a literal, in lower case",
			keywords: "with encrypted by login",
			find:     `(?i:(?:with|encrypted|by|login) +(?:encrypted +)?password +=? *N?){quoted}`,
			leak:     `alter role app with password '<<it is long>>' valid until 'infinity'`,
			harmless: `login with password is disabled`,
		},
		{
			name:     "SET PASSWORD",
			keywords: "set",
			find:     `(?i:set +password +for +\S+ += *(?:password\( *)?){quoted}`,
			leak:     `SET PASSWORD FOR 'app'@'%' = '<<{p:12}>>': 1133`,
			harmless: `set password for app = NULL`,
		},
		{
			name:     "key of a function that encrypts",
			keywords: "pgp_sym_ aes_",
			find:     `(?i:(?:pgp_sym|aes)_(?:en|de)crypt(?:_bytea)?\([^,)]*, *){quoted}`,
			leak:     `SELECT pgp_sym_decrypt(v, '<<{a:16}>>') FROM t: Wrong key`,
			harmless: `function pgp_sym_decrypt(bytea, text) does not exist`,
		},
	}
}
