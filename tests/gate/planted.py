"""Secrets of many kinds, each in a realistic file; made at run time, so that our source contains none."""

import base64
import random
import string
from collections.abc import Callable
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_BASE64 = _ALNUM + "+/"
_HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Planted:
    """A file with a secret; ``secrets`` are the texts that must never be shown, decoded and as written."""

    kind: str
    path: str
    text: str
    secrets: tuple[str, ...]


class Maker:
    """Makes realistic secrets, the same in each run."""

    def __init__(self, seed: int = 15) -> None:
        self._random = random.Random(seed)

    def some(self, length: int, alphabet: str = _ALNUM) -> str:
        """Return a text of this length with at least one letter and one digit."""
        while True:
            made = "".join(self._random.choices(alphabet, k=length))
            if any(map(str.isdigit, made)) and any(map(str.isalpha, made)):
                return made

    def lines(self, count: int, width: int = 64) -> list[str]:
        """Return lines of base64, as in a key."""
        return [self.some(width, _BASE64) for _ in range(count)]


def _token(kind: str, make: Callable[[Maker], str], path: str, template: str) -> Callable[[Maker], Planted]:
    def planted(maker: Maker) -> Planted:
        secret = make(maker)
        # A token may be split at its dots; then its longest part must not be shown either.
        return Planted(kind, path, template.replace("@@", secret), (secret,))

    return planted


def _key(kind: str, path: str, label: str, wrap: Callable[[list[str]], str]) -> Callable[[Maker], Planted]:
    def planted(maker: Maker) -> Planted:
        lines = maker.lines(8)
        text = wrap([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])
        return Planted(kind, path, text, tuple(lines))

    return planted


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _jwt(maker: Maker) -> str:
    parts = (_b64('{"alg":"HS256","typ":"JWT"}'), _b64('{"sub":"' + maker.some(10) + '"}'), maker.some(43))
    return ".".join(part.rstrip("=") for part in parts)


def _kubernetes(maker: Maker) -> Planted:
    password = maker.some(18)
    encoded = _b64(password)
    text = f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  connection: {encoded}\n"
    return Planted("kubernetes secret", "deploy/secret.yaml", text, (encoded,))


def _htpasswd(maker: Maker) -> Planted:
    digest = maker.some(22)
    return Planted("htpasswd", "conf/htpasswd", f"amelia:$apr1${maker.some(8)}${digest}\n", (digest,))


def _basic(maker: Maker) -> Planted:
    encoded = _b64("amelia:" + maker.some(14))
    text = f'curl -H "Authorization: Basic {encoded}" https://h.io\n'
    return Planted("basic header", "scripts/call.sh", text, (encoded,))


def _split(maker: Maker) -> Planted:
    first, second = maker.some(20), maker.some(20)
    text = f'db_password = "{first}" \\\n    "{second}"\n'
    return Planted("password in two literals", "app/split.py", text, (first, second))


def _password(length: int = 14) -> Callable[[Maker], str]:
    return lambda maker: maker.some(length - 2) + "!" + maker.some(4)[:1]


def _fixed(prefix: str, length: int, alphabet: str = _ALNUM, end: str = "") -> Callable[[Maker], str]:
    return lambda maker: prefix + maker.some(length, alphabet) + end


def _plain(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _indented(lines: list[str]) -> str:
    return "tls:\n  key: |\n" + "".join(f"    {line}\n" for line in lines) + "  port: 443\n"


def _escaped(lines: list[str]) -> str:
    return 'const key = "' + "\\n".join(lines) + '\\n";\nmodule.exports = { key };\n'


def _service_account(lines: list[str]) -> str:
    return '{\n  "type": "service_account",\n  "private_key": "' + "\\n".join(lines) + '\\n"\n}\n'


def _truncated(lines: list[str]) -> str:
    return "# a key, cut off\n" + "\n".join(lines[:-1]) + "\n"


def _concatenated(lines: list[str]) -> str:
    return "String key =\n" + " +\n".join(f'    "{line}\\n"' for line in lines) + ";\n"


def _windows(lines: list[str]) -> str:
    return "\r\n".join(lines) + "\r\n"


def _diff(lines: list[str]) -> str:
    return "--- a/k.pem\n+++ b/k.pem\n@@ -0,0 +1,10 @@\n" + "".join(f"+{line}\n" for line in lines)


def _notebook(lines: list[str]) -> str:
    source = ", ".join(f'"{line}\\n"' for line in lines)
    return '{"cells": [{"cell_type": "code", "source": [' + source + '], "outputs": []}], "nbformat": 4}\n'


_RSA = "RSA PRIVATE KEY"
_BUILDERS: tuple[Callable[[Maker], Planted], ...] = (
    _key("RSA key", "keys/server.pem", _RSA, _plain),
    _key("PKCS 8 key in YAML", "conf/tls.yaml", "PRIVATE KEY", _indented),
    _key("EC key in one string", "src/key.js", "EC PRIVATE KEY", _escaped),
    _key("OpenSSH key with CRLF", "keys/id_ed25519", "OPENSSH PRIVATE KEY", _windows),
    _key("PGP key", "keys/release.asc", "PGP PRIVATE KEY BLOCK", _plain),
    _key("encrypted key in Java", "src/Keys.java", "ENCRYPTED PRIVATE KEY", _concatenated),
    _key("DSA key cut off", "docs/key.md", "DSA PRIVATE KEY", _truncated),
    _key("service account", "conf/gcp.json", "PRIVATE KEY", _service_account),
    _key("key in a diff", "patches/add.diff", _RSA, _diff),
    _key("key in a notebook", "notes/key.ipynb", _RSA, _notebook),
    _token("AWS access key", _fixed("AKIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), "main.tf", 'access_key = "@@"\n'),
    _token("AWS secret key", _fixed("", 40, _BASE64), "aws/credentials", "[default]\naws_secret_access_key = @@\n"),
    _token(
        "AWS secret in code", _fixed("", 40, _BASE64), "src/s3.go", 'creds := New("id", "x")\nSecretAccessKey: "@@",\n'
    ),
    _token("Google API key", _fixed("AIza", 35), "web/map.html", '<script src="https://maps.io/js?key=@@"></script>\n'),
    _token("Google OAuth secret", _fixed("GOCSPX-", 28), "conf/oauth.json", '{"web": {"client_secret": "@@"}}\n'),
    _token(
        "Azure storage",
        _fixed("", 86, _BASE64, "=="),
        "src/Blob.cs",
        'var c = "AccountName=a;AccountKey=@@;Suffix=x";\n',
    ),
    _token("Azure SAS", _fixed("", 43, _ALNUM, "%3D"), "docs/sas.rst", "https://a.blob.io/c?sv=2022&sp=r&sig=@@\n"),
    _token("GitHub token", _fixed("ghp_", 36), "src/ci.py", 'TOKEN = "@@"\n'),
    _token("GitHub fine-grained", _fixed("github_pat_", 82), ".github/workflows/x.yml", "env:\n  GH: @@\n"),
    _token("GitHub app token", _fixed("ghs_", 36), "docs/a.md", "Use `@@` to log in.\n"),
    _token("GitLab token", _fixed("glpat-", 20), "ci/push.sh", "git push https://oauth2:@@@gitlab.io/a/b\n"),
    _token("npm token", _fixed("npm_", 36), ".npmrc", "//registry.npmjs.org/:_authToken=@@\n"),
    _token("old npm token", _fixed("", 36), "conf/.npmrc", "//registry.npmjs.org/:_authToken=@@\n"),
    _token(
        "PyPI token", _fixed("pypi-AgEIcHlwaS5vcmc", 80), ".pypirc", "[pypi]\nusername = __token__\npassword = @@\n"
    ),
    _token("Slack token", _fixed("xoxb-123456789012-123456789012-", 24), "src/slack.rb", "Slack.new(token: '@@')\n"),
    _token(
        "Slack webhook",
        _fixed("T01234567/B01234567/", 24),
        "src/hook.ts",
        'post("https://hooks.slack.com/services/@@");\n',
    ),
    _token(
        "Discord webhook", _fixed("", 68), "src/d.py", 'URL = "https://discord.com/api/webhooks/1234567890123/@@"\n'
    ),
    _token("Discord bot", _fixed("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.", 38), "src/bot.js", 'client.login("@@");\n'),
    _token("Telegram bot", _fixed("123456789:AA", 33), "src/tg.py", 'bot = Bot("@@")\n'),
    _token("Stripe key", _fixed("sk_live_", 24), "src/Pay.kt", 'val stripe = Stripe("@@")\n'),
    _token("Stripe key in XML", _fixed("sk_live_", 24), "res/keys.xml", '<string name="stripe">@@</string>\n'),
    _token("Twilio key", _fixed("SK", 32, _HEX), "src/sms.php", "<?php $sid = '@@';\n"),
    _token("Twilio token", _fixed("", 32, _HEX), "src/sms.py", 'auth_token = "@@"\n'),
    _token("SendGrid key", lambda m: f"SG.{m.some(22)}.{m.some(43)}", "src/mail.cs", 'var key = "@@";\n'),
    _token("Mailgun key", _fixed("key-", 32, _HEX), "src/mg.py", "send(('api', '@@'))\n"),
    _token("OpenAI key", _fixed("sk-proj-", 48), "src/llm.py", 'client = OpenAI("@@")\n'),
    _token("OpenAI key of old", lambda m: f"sk-{m.some(20)}T3BlbkFJ{m.some(20)}", "src/gpt.rs", 'let k = "@@";\n'),
    _token("Anthropic key", _fixed("sk-ant-api03-", 93, _ALNUM, "AA"), "app/.env.local", "ANTHROPIC=@@\n"),
    _token("Hugging Face token", _fixed("hf_", 34), "train/run.sh", "huggingface-cli login @@\n"),
    _token("DigitalOcean token", _fixed("dop_v1_", 64, _HEX), "infra/do.tf", 'token = "@@"\n'),
    _token("Shopify token", _fixed("shpat_", 32, _HEX), "src/shop.rb", "session = '@@'\n"),
    _token("Docker token", _fixed("dckr_pat_", 27), "ci/login.sh", "echo @@ | docker login\n"),
    _token("Vault token", _fixed("hvs.", 95), "conf/vault.hcl", 'x = "@@"\n'),
    _token("Databricks token", _fixed("dapi", 32, _HEX), "conf/dbx.toml", 'host = "x"\nt = "@@"\n'),
    _token("JWT", _jwt, "tests/fixtures/session.json", '{"session": "@@"}\n'),
    _token("bearer header", _fixed("", 40), "src/http.java", 'r.header("Authorization", "Bearer @@");\n'),
    _token("password in a URL", _password(), "settings/db.py", 'DB = "postgres://app:@@@db.host:5432/app"\n'),
    _token("password in Redis URL", _fixed("", 20), "conf/cache.yml", "cache: redis://:@@@cache:6379/0\n"),
    _token("password in Python", _password(), "app/settings.py", 'DATABASES = {"default": {"PASSWORD": "@@"}}\n'),
    _token("password in kwargs", _password(), "app/run.py", "connect(host='h', user='u', password='@@')\n"),
    _token("password in YAML", _password(), "conf/app.yml", "database:\n  user: app\n  password: @@\n"),
    _token("password in compose", _fixed("", 16), "docker-compose.yml", "environment:\n  - POSTGRES_PASSWORD=@@\n"),
    _token("password in .env", _fixed("", 16), ".env", "DEBUG=1\nDB_PASSWORD=@@\n"),
    _token("password in JSON", _password(), "conf/app.json", '{"db": {"user": "a", "password": "@@"}}\n'),
    _token("password in TOML", _password(), "conf/app.toml", '[db]\npassword = "@@"\n'),
    _token("password in INI", _fixed("", 15), "conf/app.ini", "[db]\nuser = a\npassword = @@\n"),
    _token("password in properties", _fixed("", 15), "app.properties", "spring.datasource.password=@@\n"),
    _token("password in an element", _fixed("", 15), "conf/server.xml", "<server><password>@@</password></server>\n"),
    _token("password in an attribute", _fixed("", 15), "conf/web.xml", '<user name="a" password="@@"/>\n'),
    _token("named value in XML", _fixed("", 15), "App.config", '<add key="DbPassword" value="@@"/>\n'),
    _token("connection string", _fixed("", 15), "src/Db.cs", 'var s = "Server=h;User Id=a;Password=@@;Pooling=1";\n'),
    _token("password in Java", _password(), "src/Db.java", 'String dbPassword = "@@";\n'),
    _token("password in Go", _password(), "src/db.go", 'const password string = "@@"\n'),
    _token("password in a map", _password(), "src/Map.java", 'props.put("password", "@@");\n'),
    _token("password in a setter", _password(), "src/Set.java", 'ds.setPassword("@@");\n'),
    _token("password in SQL", _password(), "db/init.sql", "CREATE USER app IDENTIFIED BY '@@';\n"),
    _token("password in PostgreSQL", _password(), "db/role.sql", "CREATE ROLE app WITH LOGIN PASSWORD '@@';\n"),
    _token("password in a Dockerfile", _fixed("", 15), "Dockerfile", "FROM scratch\nENV DB_PASSWORD @@\n"),
    _token("password on the command line", _fixed("", 15), "ci/db.sh", "tool --user a --password @@ --now\n"),
    _token("password in curl", _fixed("", 15), "docs/use.md", "    curl -u amelia:@@ https://h.io\n"),
    _token("password in .netrc", _fixed("", 15), ".netrc", "machine h.io login amelia password @@\n"),
    _token("password in .pgpass", _fixed("", 15), ".pgpass", "db.host:5432:app:amelia:@@\n"),
    _token("password as default", _fixed("", 15), "src/env.py", 'P = os.getenv("DB_PASSWORD", "@@")\n'),
    _token("password in shell default", _fixed("", 15), "ci/x.sh", 'P="${DB_PASSWORD:-@@}"\n'),
    _token("password in JavaScript", _password(), "src/db.ts", "const cfg = { user: 'a', password: `@@` };\n"),
    _token("password in a hash", _password(), "src/db.rb", "{ :password => '@@' }\n"),
    _token("password in Terraform", _password(), "infra/db.tf", 'resource "x" "y" {\n  password = "@@"\n}\n'),
    _token("weak password", lambda _: "hunter2", "app/weak.py", 'password = "@@"\n'),
    _token("key of Django", lambda m: "django-insecure-" + m.some(40), "app/dj.py", "SECRET_KEY = '@@'\n"),
    _token("API key", _fixed("", 32, _HEX), "src/weather.js", 'const apiKey = "@@";\n'),
    _token("API key in a header", _fixed("", 32), "src/h.go", 'req.Header.Set("X-Api-Key", "@@")\n'),
    _token("API key as UUID", lambda m: "-".join(m.some(n, _HEX) for n in (8, 4, 4, 4, 12)), "a.cfg", "api_key = @@\n"),
    _token("token in a query", _fixed("", 32), "src/q.py", 'get("https://h.io/x?access_token=@@&y=1")\n'),
    _token("client secret", _fixed("", 32), "conf/oidc.yaml", "oidc:\n  clientSecret: @@\n"),
    _token("signing key", _fixed("", 44, _BASE64), "src/sign.ex", 'signing_key: "@@"\n'),
    _token("key in ECS", _fixed("", 20), "ecs.json", '{"environment": [{"name": "DB_PASSWORD", "value": "@@"}]}\n'),
    _token("password in a container", _fixed("", 20), "k8s/d.yaml", "env:\n  - name: DB_PASSWORD\n    value: @@\n"),
    _token(
        "password in a patch",
        _password(),
        "patches/x.patch",
        '@@ -1 +1 @@\n-x = 1\n+password = "@@"\n'.replace("@@ -1 +1 @@", "## 1"),
    ),
    _token(
        "password in a notebook", _password(), "notes/a.ipynb", '{"cells": [{"source": ["password = \\"@@\\"\\n"]}]}\n'
    ),
    _token("password of letters", lambda _: "fGGFukuewyPyLt", "src/p.h", 'static const char* password = "@@";\n'),
    _token("password in R", _fixed("", 15), "src/p.R", 'password <- "@@"\n'),
    _token("API key in C", _fixed("", 32), "src/k.c", '#define API_KEY "@@"\n'),
    _token("account in code", _fixed("", 15), "src/a.py", 'get(url, auth=("amelia", "@@"))\n'),
    _token("token in JSX", _fixed("", 34), "src/t.tsx", '<Login token={"@@"} />\n'),
    _token("column of CSV", _password(), "data/users.csv", "user,password\namelia,@@\n"),
    _token("column of a table", _password(), "docs/users.md", "| user | password |\n|---|---|\n| amelia | @@ |\n"),
    _token("row of SQL", _password(), "db/users.sql", "INSERT INTO u (name, password) VALUES ('amelia', '@@');\n"),
    _token("PowerShell", _password(), "ci/x.ps1", '$password = "@@"\n'),
    _token("requirepass", _fixed("", 20), "conf/redis.conf", "port 6379\nrequirepass @@\n"),
    _kubernetes,
    _htpasswd,
    _basic,
    _split,
)


def planted(seed: int = 15) -> list[Planted]:
    """Return all files; another seed makes other secrets."""
    maker = Maker(seed)
    return [build(maker) for build in _BUILDERS]
