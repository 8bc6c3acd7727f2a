// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

// flagRules find the argument of a flag.
func flagRules() []rule {
	return []rule{
		{
			name:  "argument of a flag",
			after: "flag",
			find:  ` +(?:{quoted}|{bare})`,
			keep: `{harmless}|{open}|\d{1,4}|{word}[.,;:!?)]*|{code}|[-=].*|[({*%].*` +
				`|[a-z0-9./-]+\.(?:key|pem)|.`,
			leak:     `login --password <<hunter2>>`,
			harmless: `use --token to authenticate --private-key tls/server.key`,
		},
		{
			name:     "user and password of curl",
			keywords: "-u --cert --creds --src-creds --dest-creds",
			find: `(?:-u|--user|--proxy-user|--cert|--(?:src-|dest-)?creds)` +
				`(?:[ =]*["']?|["'][ ,]+["'])[^\s:"'=]+:{argument}`,
			keep:     `\d*`,
			leak:     `curl -u admin:<<{p:12}>> https://example.com: exit status 22`,
			harmless: `docker run -u 1000:1000 image`,
		},
		{
			name:     "user and password of HTTPie",
			keywords: "http",
			find:     `https? +(?:\S+ +){0,3}(?:-a|--auth) +[^\s:]+:{argument}`,
			leak:     `http -a ci:<<{a:16}>> GET api.example.com: 401`,
			harmless: `http proxy -a is not known`,
		},
		{
			name:     "user and password of SMB",
			keywords: "-U",
			find:     `(?:-U|--user)[ =]*["']?[^\s%"']+%{argument}`,
			leak:     `smbclient -U app%<<{p:10}>> //files/share: NT_STATUS_LOGON_FAILURE`,
			harmless: `psql -U app -h db`,
		},
		{
			name: "short flag of a client",
			keywords: "redis- sqlcmd bcp isql tsql ipmitool zip unzip ldap ssh-keygen openssl 7z 7za " +
				"rar unrar lftp xfreerdp wfreerdp mosquitto_", //nolint:misspell // a program
			find: `(?:redis-(?:cli|benchmark){options} (?:-a *|--pass +)` +
				`|(?:sqlcmd|bcp|[it]sql|mosqui\w+|ipmitool|zip|unzip){options} -P *` +
				`|ldap[a-z]+{options} -w *` +
				`|ldappasswd{options} -[as] +` +
				`|ssh-keygen{options} -[NP] +` +
				`|openssl (?:enc|aes\S*|des\S*){options} -[kK] +` +
				`|(?:7za?|rar|unrar){options} -p` +
				`|lftp{options} (?:-u|--user) +[^\s,]+,` +
				`|[xw]freerdp{options} /p:){argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `exec redis-cli -h cache -a <<{a:16}>> ping: exit status 1`,
			harmless: `sqlcmd -S db -d runs -i schema.sql; ldapsearch -x -W; scp -P 2222 a b`,
		},
		{
			name: "argument of a command",
			keywords: "mc rabbitmqctl htpasswd net etcdctl connect nmcli rclone mysqladmin sonar.login " +
				"mosquitto_passwd", //nolint:misspell // a program
			find: `(?:mc(?: +-\S+)* +(?:(?:alias set|config host add) +\S+ +\S*[^\s:]|admin user add +\S+)` +
				` +\S*[^\s:] +` +
				`|rabbitmqctl{options} (?:add_user|change_password|authenticate_user) +[^\s-]\S* +` +
				`|mosqui\w+passwd +(?:-\w+ +)*-b +\S+ +[^\s-]\S* +` +
				`|htpasswd +(?:-\w*b\w*n\w* +|-\w*n\w*b\w* +|-[a-mo-zA-Z]*b[a-mo-zA-Z]* +\S+ +)\S+ +` +
				`|net use(?: +\S:)? +\\+\S+ +|net user +[^\s/]+ +` +
				`|etcdctl{options} user (?:add|passwd) +["']?[\w.-]+:` +
				`|connect to \S+ user \S+ using +` +
				`|nmcli{options} (?:password|\S*psk) +` +
				`|rclone{options} pass +|mysqladmin{options} password +` +
				`|[\w-]*sonar\.login=){argument}`,
			keep:     `{harmless}|[-/*].*`,
			leak:     `mc alias set store https://minio:9000 admin <<{a:16}>>: exit status 1`,
			harmless: `mc alias set store https://minio:9000: exit status 1; htpasswd -c file admin`,
		},
		{
			name:     "-A, -X and -c of SNMP",
			keywords: "snmp",
			find:     `snmp\w+{options} (?:-c +([^\s"']+)|-A +([^\s"']+)(?:{options} -X +([^\s"']+))?)`,
			keep:     `{harmless}|-.*|public`,
			leak:     `snmpwalk -v3 -u ops -A <<authpass12>> -X <<privpass34>> host: Timeout`,
			harmless: `snmpwalk -v2c -c public host`,
		},
		{
			name:     "user and password of Oracle",
			keywords: "sqlplus sqlldr expdp impdp rman",
			find: `{keyword}{options} +(?:userid=)?["']?[\w.$#-]+/` +
				`(?:'([^']+)'|([^\s"'@/]+))(?:[@"'\s]|$)`,
			leak:     `sqlplus -S app/<<{a:12}>>@db.example.com:1521/ORCL: ORA-12154`,
			harmless: `sqlplus /nolog @scripts/init.sql: exit status 1`,
		},
		{
			name:     "command that takes a token",
			keywords: "vault ngrok snyk",
			find: `(?:vault (?:login|unwrap|token (?:lookup|renew|revoke))|ngrok (?:config add-)?authtoken` +
				`|snyk auth) +{argument}`,
			keep:     `{harmless}|-.*|.*=.*|.{0,7}`,
			leak:     `vault login <<swordfish-77>>: exit status 2`,
			harmless: `vault login -method=kubernetes role=app: exit status 2`,
		},
		{
			name:     "text for the standard input of a command",
			keywords: "echo printf",
			find: `{keyword}(?: -\w+)* +(?:["']([^"'|]+)["']|([^\s"'|]+)) *\| *[^|;\n]*?` +
				`(?:-stdin|--with-token|sudo +-S|base64 (?:-d|-D|--decode)|secret create|secrets? set)`,
			keep:     `{harmless}|\$.*`,
			leak:     `echo <<{a:20}>> | docker login -u ci --password-stdin ghcr.io`,
			harmless: `echo "$TOKEN" | docker login --password-stdin; echo done | tee log`,
		},
		{
			name:     "standard input of chpasswd",
			keywords: "echo printf chpasswd",
			find: `(?:(?:echo|printf)(?: -\w+)* +["'\\]*[\w.-]+:([^\s"'|\\]+)["'\\n]* *\|` +
				` *(?:sudo +)?chpasswd` +
				`|chpasswd(?: -\w+)* *<<<? *["']?[\w.-]+:{argument})`,
			keep:     `\$.*`,
			leak:     `sh -c "echo app:<<walnut>> | chpasswd -e"`,
			harmless: `echo "app:$PASSWORD" | chpasswd`,
		},
		{
			name:     "list of chpasswd",
			keywords: "chpasswd",
			find: `chpasswd["']?:[\s{"']*(?:expire["']?: *\w+[\s,"']+)?list["']?:\s*` +
				`((?:[\s"',|>\[-]*[\w.-]+:[^\s"',:]+)+)`,
			each:     `[\w.-]+:([^\s"',:]+)`,
			leak:     `chpasswd: {list: "root:<<gr4pefruit>>"}`,
			harmless: `chpasswd: (user app) pam_chauthtok() failed`,
		},
		{
			name:     "call that takes a user and a password",
			keywords: "auth( changeUserPassword( login( Credentials(",
			find:     `\w*{keyword} *[\\"']+[^"'\\]*[\\"']+ *, *[\\"']+([^"'\\]+)`,
			keep:     `{harmless}`,
			leak:     `mongosh --eval 'db.changeUserPassword("app", "<<cumin-seed>>")': exit status 1`,
			harmless: `client.login(user, password) failed`,
		},
		{
			name:     "-p after a user",
			keywords: "mysql sshpass login -u",
			find: `(?:mysql|mysqldump|sshpass|login|-u[\w-]*|--user[\w-]*){options}` +
				` -p *["']?([^\s"'][^\s"']{2,}[^\s"':,])`,
			keep:     `[-\[<$/].*|{harmless}|\d[\d:]*|ass.*`,
			leak:     `mysql -u root -p <<{a:14}>> -h db: exit status 1`,
			harmless: `psql -U app -p 5432 -h db; mkdir -p build`,
		},
	}
}
