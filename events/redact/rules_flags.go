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
				`(?:[ =]*["']?|["'][ ,]+["'])[^\s:"'=]+:([^\s"']+)`,
			keep:     `\d*`,
			leak:     `curl -u admin:<<{p:12}>> https://example.com: exit status 22`,
			harmless: `docker run -u 1000:1000 image`,
		},
		{
			name:     "user and password of HTTPie",
			keywords: "http",
			find:     `https? +(?:\S+ +){0,3}(?:-a|--auth) +[^\s:]+:([^\s"']+)`,
			leak:     `http -a ci:<<{a:16}>> GET api.example.com: 401`,
			harmless: `http proxy -a is not known`,
		},
		{
			name:     "user and password of SMB",
			keywords: "-U",
			find:     `(?:-U|--user)[ =]*["']?[^\s%"']+%([^\s"']+)`,
			leak:     `smbclient -U app%<<{p:10}>> //files/share: NT_STATUS_LOGON_FAILURE`,
			harmless: `psql -U app -h db`,
		},
		{
			name:     "-a of Redis",
			keywords: "redis-cli redis-benchmark",
			find:     `{keyword}{options} (?:-a *|--pass +){argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `exec redis-cli -h cache -a <<{a:16}>> ping: exit status 1`,
			harmless: `redis-cli -h cache -p 6379 ping`,
		},
		{
			name:     "-P of clients and archives",
			keywords: "sqlcmd bcp isql tsql mosquitto_ ipmitool zip unzip", //nolint:misspell // programs
			find:     `{keyword}\w*{options} -P *{argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `sqlcmd -S db,1433 -U sa -P <<{p:14}>> -Q "SELECT 1": Login failed`,
			harmless: `sqlcmd -S db -d runs -i schema.sql; scp -P 2222 a b`,
		},
		{
			name:     "-w of LDAP",
			keywords: "ldapsearch ldapadd ldapmodify ldapdelete ldapcompare ldapmodrdn ldappasswd ldapwhoami",
			find:     `{keyword}{options} -w *{argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `ldapsearch -x -D cn=admin -w <<admin-pass1>> -b dc=example: 49`,
			harmless: `ldapsearch -x -b dc=example -W`,
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
			name:     "-N of ssh-keygen",
			keywords: "ssh-keygen",
			find:     `{keyword}{options} -[NP] +{argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `ssh-keygen -q -N <<my-phrase-3>> -f id: exit status 1`,
			harmless: `ssh-keygen -q -f id`,
		},
		{
			name:     "-b of htpasswd",
			keywords: "htpasswd",
			find: `htpasswd +(?:-\w*b\w*n\w* +|-\w*n\w*b\w* +` +
				`|-[a-mo-zA-Z]*b[a-mo-zA-Z]* +\S+ +)\S+ +{argument}`,
			leak:     `htpasswd -bn admin <<hunter2x>> | tee f`,
			harmless: `htpasswd -c file admin`,
		},
		{
			name:     "user and password of Oracle",
			keywords: "sqlplus sqlldr expdp impdp rman",
			find:     `{keyword}{options} +(?:userid=)?["']?[\w.$#-]+/(?:'([^']+)'|([^\s"'@/]+))(?:[@"'\s]|$)`,
			leak:     `sqlplus -S app/<<{a:12}>>@db.example.com:1521/ORCL: ORA-12154`,
			harmless: `sqlplus /nolog @scripts/init.sql: exit status 1`,
		},
		{
			name:     "keys of MinIO's client",
			keywords: "mc",
			find: `mc(?: +-\S+)* +(?:(?:alias set|config host add) +\S+ +\S*[^\s:]|admin user add +\S+)` +
				` +\S*[^\s:] +{argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `mc alias set store https://minio:9000 admin <<{a:16}>>: exit status 1`,
			harmless: `mc alias set store https://minio:9000: exit status 1`,
		},
		{
			name:     "command that takes a user and a password",
			keywords: "rabbitmqctl mosquitto_passwd",
			find: `(?:rabbitmqctl{options} (?:add_user|change_password|authenticate_user)` +
				`|mosquitto_passwd +(?:-\w+ +)*-b +\S+) +[^\s-]\S* +{argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `rabbitmqctl change_password app <<orchid55>>: exit status 70`,
			harmless: `rabbitmqctl set_permissions -p / app ".*" ".*" ".*": exit status 70`,
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
			name:     "key of OpenSSL",
			keywords: "openssl",
			find:     `openssl (?:enc|aes\S*|des\S*){options} -[kK] +{argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `openssl enc -aes-256-cbc -k <<otter-pass>> -in a: bad decrypt`,
			harmless: `openssl x509 -in cert.pem -noout: exit status 1`,
		},
		{
			name:     "-p of archives",
			keywords: "7z 7za rar unrar",
			find:     `{keyword}{options} -p{argument}`,
			leak:     `7z x -p<<{a:10}>> backup.7z: exit status 2`,
			harmless: `7z x backup.7z -o/data: exit status 2`,
		},
		{
			name:     "text for the standard input of a command",
			keywords: "echo printf",
			find: `{keyword}(?: -\w+)* +(?:["']([^"'|]+)["']|([^\s"'|]+)) *\| *[^|;\n]*?` +
				`(?:-stdin|--stdin|--with-token|sudo +-S|base64 (?:-d|-D|--decode)|secret create|secrets? set)`,
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
			name:     "user and password of lftp",
			keywords: "lftp",
			find:     `lftp{options} (?:-u|--user) +[^\s,]+,{argument}`,
			leak:     `lftp -u deploy,<<bramble1>> sftp://files: exit status 1`,
			harmless: `lftp -u deploy sftp://files: exit status 1`,
		},
		{
			name:     "password for Windows",
			keywords: "net xfreerdp wfreerdp",
			find:     `(?:net use(?: +\S:)? +\\+\S+ +|net user +[^\s/]+ +|[xw]freerdp{options} /p:){argument}`,
			keep:     `{harmless}|[/*].*`,
			leak:     `net use X: \\files\share <<Bramble!1>> /user:app: error 1326`,
			harmless: `net use failed: System error 67 has occurred`,
		},
		{
			name:     "user and password of etcdctl",
			keywords: "etcdctl",
			find:     `etcdctl{options} user (?:add|passwd) +["']?[\w.-]+:{argument}`,
			leak:     `etcdctl user add root:<<cumin>>: exit status 1`,
			harmless: `etcdctl user add root: exit status 1`,
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
			name:     "password in words of a command",
			keywords: "connect nmcli rclone mysqladmin",
			find: `(?:connect to \S+ user \S+ using|nmcli{options} (?:password|\S*psk)|rclone{options} pass` +
				`|mysqladmin{options} password) +{argument}`,
			keep:     `{harmless}`,
			leak:     `db2 connect to runs user app using <<basil77>>: SQL30082N`,
			harmless: `db2 connect to runs: SQL1013N`,
		},
		{
			name:     "new password of LDAP",
			keywords: "ldappasswd",
			find:     `ldappasswd{options} -[as] +{argument}`,
			keep:     `{harmless}|-.*`,
			leak:     `ldappasswd -D cn=admin -W -s <<thyme2new>> uid=a: exit status 49`,
			harmless: `ldappasswd -D cn=admin -W -S uid=a: exit status 49`,
		},
		{
			name:     "token of Sonar's scanner",
			keywords: "sonar.login",
			find:     `[\w-]*{keyword}={argument}`,
			leak:     `sonar-scanner -Dsonar.login=<<{h:40}>>: exit status 1`,
			harmless: `sonar-scanner -Dsonar.host.url=https://sonar: exit status 1`,
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
