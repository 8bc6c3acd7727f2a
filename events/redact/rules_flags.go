// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

// flagRules find the argument of a flag.
func flagRules() []rule {
	return []rule{
		{
			name:     "argument of a flag",
			after:    "flag",
			find:     ` +(?:{quoted}|{bare})`,
			keep:     `{harmless}|{open}|{prose}|{code}|[-=].*|[({*%].*|[a-z0-9./-]+\.(?:key|pem)|.`,
			leak:     `login --password <<hunter2>>`,
			harmless: `use --token to authenticate --private-key tls/server.key`,
		},
		{
			name:     "word of a sentence after a flag",
			after:    "flag",
			find:     " +(?P<keep>[A-Za-z]{1,24}) (?:[A-Za-z']{1,24}(?:[^\\w-]|$)|[\"'`])",
			harmless: `the flag --token expects one`,
		},
		{
			name:     "argument in a list",
			after:    "flag",
			find:     `{listed}`,
			keep:     `{harmless}|-.*|[a-z0-9./-]+\.(?:key|pem)|.`,
			leak:     `["mysql","--password","<<hunter2pass>>","--host","db"]`,
			harmless: `["--token-file","/run/token","--password",""]`,
		},
		{
			name:     "user and password of curl",
			keywords: "-u --creds --src-creds --dest-creds",
			find: `(?:-u|--user|--proxy-user|--(?:src-|dest-)?creds)` +
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
			find:     `{keyword}{options} (?:-a|--pass) +["']?([^\s"']+)`,
			keep:     `{harmless}|-.*`,
			leak:     `exec redis-cli -h cache -a <<{a:16}>> ping: exit status 1`,
			harmless: `redis-cli -h cache -p 6379 ping`,
		},
		{
			name:     "-P of clients and archives",
			keywords: "sqlcmd bcp isql tsql mosquitto_ ipmitool zip unzip", //nolint:misspell // programs
			find:     `{keyword}\w*{options} -P *["']?([^\s"']+)`,
			keep:     `{harmless}|-.*`,
			leak:     `sqlcmd -S db,1433 -U sa -P <<{p:14}>> -Q "SELECT 1": Login failed`,
			harmless: `sqlcmd -S db -d runs -i schema.sql; scp -P 2222 a b`,
		},
		{
			name:     "-w of LDAP",
			keywords: "ldapsearch ldapadd ldapmodify ldapdelete ldapcompare ldapmodrdn ldappasswd ldapwhoami",
			find:     `{keyword}{options} -w +["']?([^\s"']+)`,
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
			find:     `{keyword}{options} -[NP] +["']?([^\s"']+)`,
			keep:     `{harmless}|-.*`,
			leak:     `ssh-keygen -q -N <<my-phrase-3>> -f id: exit status 1`,
			harmless: `ssh-keygen -q -f id`,
		},
		{
			name:     "-b of htpasswd",
			keywords: "htpasswd",
			find: `htpasswd +(?:-\w*b\w*n\w* +|-\w*n\w*b\w* +` +
				`|-[a-mo-zA-Z]*b[a-mo-zA-Z]* +\S+ +)\S+ +([^\s"']+)`,
			leak:     `htpasswd -bn admin <<hunter2x>> | tee f`,
			harmless: `htpasswd -c file admin`,
		},
		{
			name:     "-t of InfluxDB",
			keywords: "influx",
			find:     `influx{options} (?:-t|--token) +["']?([^\s"']+)`,
			keep:     `{harmless}|-.*`,
			leak:     `influx write -t <<{w:60}>> -b runs: unauthorized`,
			harmless: `influx write -b runs`,
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
