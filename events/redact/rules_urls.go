// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

// urlRules find credentials by their place in a URL or a data source name.
func urlRules() []rule {
	return []rule{
		{
			name:     "password of a URL",
			keywords: "*@",
			find:     "{near}://[^\\s\"'`/?#:\\[]*:([^\\s\"'`/?#]+)@",
			leak:     `dial postgres://app:<<{p:12}>>@db.svc:5432/app: timeout`,
			harmless: `redis://redis-master:6379/0@1 is loading`,
		},
		{
			name:     "password of a URL with a slash",
			keywords: "*@",
			find: "{near}://[^\\s\"'`/?#:\\[]*:((?:\\d*[^\\s\"'`/?#@\\d][^\\s\"'`/?#@]*)?" +
				"[/?#][^\\s\"'`@]*(?:@[^\\s\"'`/?#@]*)*)@",
			leak:     `redis://:<<pa/ss/word1>>@redis:6379 refused`,
			harmless: `http://h:80/@/x`,
		},
		{
			name:     "long user of a URL",
			keywords: "*@",
			find:     "{near}://([^\\s\"'`/?#:@]{16,})(?::[^\\s\"'`/?#]*)?@",
			keep:     `[^0-9]*`,
			leak:     `nats://<<{a:24}>>@nats:4222 refused`,
			harmless: `ssh://git-deployment-user@git.example.com`,
		},
		{
			name:     "half of a password that is taken for a port",
			keywords: "port nonnumeric",
			find: `(?:port ":?([^"]+)" after host|port number: "([^"]+)"|nonnumeric port: '([^']+)'` +
				`|Port could not be cast to integer value as '([^']+)')`,
			keep:     `{harmless}|{open}|\d{1,6}[a-z]{0,2}|(?i:[\w-]*port[\w-]*)|https?`,
			leak:     `invalid port ":<<hunter>>" after host`,
			harmless: `parse "http://h:${PORT}/": invalid port ":${PORT}" after host`,
		},
		{
			name:     "part of a connection string of libpq",
			keywords: "missing invalid",
			find: `(?:missing "=" after "([^"]+)" in connection` +
				`|invalid integer value "([^"]+)" for connection option "port")`,
			keep:     `{harmless}`,
			leak:     `missing "=" after "<<cobalt-horse>>" in connection info string"`,
			harmless: `missing "=" in the selector "app"`,
		},
		{
			name:     "data source of MySQL",
			keywords: "*@tcp( *@unix(",
			find:     "[^\\s\"'`:]*:([^\\s\"'`]*)@(?:tcp|unix)\\(",
			leak:     `root:<<p@ss@w0rd>>@tcp(db:3306)/app`,
			harmless: `user@tcp(db:3306)/app has no password`,
		},
		{
			name:     "data source without a network",
			keywords: "*@( *@/",
			find:     "[^\\s\"'`:]*:([^\\s\"'`/]+)@[(/]",
			leak:     `dial root:<<{p:12}>>@/app: connection refused`,
			harmless: `f@/src/a.js:1:2`,
		},
		{
			name:     "path of a webhook of Slack or Discord",
			keywords: "hooks.slack.com/ discord.com/api/ discordapp.com/api/",
			find: `{keyword}(?:(?:services|workflows|triggers|commands|actions)/|(?:v\d+/)?webhooks/)` +
				`([\w.~+/=@%-]+)`,
			leak:     `Post "https://hooks.slack.com/services/<<T{u:8}/B{u:8}/{a:24}>>": 404`,
			harmless: `https://discord.com/api/v10/channels/1182/messages`,
		},
		{
			name: "path of a webhook",
			keywords: "outlook.office.com/webhook/ hooks.zapier.com/hooks/catch/ /open-apis/bot/v2/hook/ " +
				"/v1/webhooks/incoming/ hc-ping.com/ events.pagerduty.com/integration/ /with/key/ " +
				".make.com/ .infura.io/v3/ .alchemy.com/v2/ /api/push/ /api/webhook/",
			find:     `{keyword}([\w.~+/=@%-]+)`,
			keep:     `[a-z/-]+`,
			leak:     `Get "https://hc-ping.com/<<{h:8}-{h:4}-{h:4}-{h:4}-{h:12}/fail>>": no such host`,
			harmless: `https://www.make.com/en/help`,
		},
		{
			name:     "random part of the path of a webhook",
			keywords: "/hooks/ /hook/ /webhooks/ /webhook/",
			find:     `{keyword}(?:[\w-]+/)??([\w-]{16,})(?:[^\w-]|$)`,
			keep:     `{ordinary}`,
			leak:     `Post "https://chat.example.com/hooks/<<{l:26}>>": 400`,
			harmless: `https://example.com/hooks/pre-install-agents-2026`,
		},
		{
			name:     "random value in a query",
			keywords: "?key= &key= ?code= &code= ?appid= &appid=",
			find:     `[?&]\w+=([^&\s"'#]{16,})`,
			keep:     `{ordinary}`,
			leak:     `Post "https://app.example.com/api/run?code=<<{w:54}==>>": 401`,
			harmless: `https://example.com/?key=spec.template.metadata.labels`,
		},
		{
			name:     "key of a webhook of WeCom",
			keywords: "/cgi-bin/webhook/send?key=",
			find:     `{keyword}([\w-]+)`,
			leak:     `Post "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=<<{h:8}-{h:4}>>": 93000`,
			harmless: `https://qyapi.weixin.qq.com/cgi-bin/webhook`,
		},
		{
			name:     "password before a host",
			keywords: "*@",
			find:     "[^\\s\"'`:/@=,]+:([^\\s\"'`/@:]{6,})@[\\w.-]+(?:/|:\\d)",
			keep:     `[A-Za-z._-]*|v?\d[\w.-]*`,
			leak:     `snowflake: app:<<{p:14}>>@acme-prod/runs/public: 390100`,
			harmless: `mailto:team2@example.com`,
		},
		{
			name:     "tag of an image before its digest",
			keywords: "*@sha",
			find:     "{near}:(?P<keep>[\\w.-]+)@sha\\d+:",
			harmless: `nginx:stable-2026@sha256:` +
				`2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae`,
		},
		{
			name:     "password of Oracle's driver",
			keywords: "*@",
			find:     "{near}jdbc:oracle:\\w+:[^\\s/:@]+/([^\\s@\"']+)@",
			leak:     `jdbc:oracle:thin:app/<<{a:12}>>@db.example.com:1521/ORCL refused`,
			harmless: `jdbc:oracle:thin:@db.example.com:1521/ORCL refused`,
		},
		{
			name:     "path of a webhook of Teams",
			keywords: "*.webhook.office.com/",
			find:     `\S*(?://|@)[\w-]+{keyword}([\w.~+/=@%-]+)`,
			leak:     `https://team-7.webhook.office.com/<<w/a@b/c%2Fd>>: 410`,
			harmless: `https://office.com/webhook`,
		},
		{
			name:     "part of a resource name",
			keywords: ":secret: checksum/ checksum~",
			find:     "(?P<keep>(?::secret:|checksum(?:/|~1)[\\w-]+[\"',: ]*(?:value[\"': ]*)?)[\\w./+=@-]*)",
			harmless: `arn:aws:secretsmanager:eu:1:secret:prod/db-AbCdEf`,
		},
	}
}
