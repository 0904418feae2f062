"""Passwords as people choose them, strong and weak, in every common notation."""

import time

import pytest

from codequarry.ingest.secrets.masking import mask

PASSWORDS = (
    "Tr0ub4dor&3", "correct-horse-battery", "S3cretPassw0rd!", "hunter2", "qwerty-9-Zebra", "Winter2024!",
    "zx81spectrum", "Pa$$w0rd99", "monkeybars77", "iLoveCats",
)  # fmt: skip
# Id, path, and text with @@ in place of the password.
NOTATIONS = (
    ("py", "a.py", 'DB_PASSWORD = "@@"\n'),
    ("py-dict", "b.py", "cfg = {'user': 'bob', 'password': '@@'}\n"),
    ("py-kw", "c.py", "connect(host='h', user='u', passwd='@@')\n"),
    ("py-env-default", "d.py", 'pw = os.environ.get("DB_PASSWORD", "@@")\n'),
    ("py-annot", "e.py", 'password: str = "@@"\n'),
    ("py-fstring-url", "f.py", 'URL = f"postgres://admin:@@@{host}/db"\n'),
    ("java", "A.java", 'class A { private static final String PASSWORD = "@@"; }\n'),
    ("java-setter", "B.java", 'class B { void f(){ ds.setPassword("@@"); } }\n'),
    ("properties", "app.properties", "spring.datasource.username=sa\nspring.datasource.password=@@\n"),
    ("yaml", "x.yml", "db:\n  user: a\n  password: @@\n"),
    ("yaml-q", "y.yml", 'db:\n  password: "@@"\n'),
    ("env", "p.env", "POSTGRES_PASSWORD=@@\n"),
    ("env-export", "q.sh", "export MYSQL_PWD='@@'\n"),
    ("compose", "docker-compose.yml", "services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD=@@\n"),
    ("json", "c.json", '{"db": {"password": "@@"}}\n'),
    ("toml", "c.toml", '[db]\npassword = "@@"\n'),
    ("ini", "c.ini", "[db]\npasswd = @@\n"),
    ("xml-attr", "w.xml", '<add name="x" password="@@"/>\n'),
    ("xml-el", "v.xml", "<server><username>u</username><password>@@</password></server>\n"),
    ("connstr", "Web.config", '<add connectionString="Server=db;Database=x;User Id=sa;Password=@@;" />\n'),
    ("ado", "d.cs", 'var cs = "Server=.;Uid=sa;Pwd=@@;";\n'),
    ("jdbc", "j.java", 'class J { String u = "jdbc:mysql://h/db?user=root&password=@@"; }\n'),
    ("redis", "r.py", 'R = "redis://:@@@cache:6379/0"\n'),
    ("go", "g.go", 'package g\nvar cfg = Config{User: "u", Password: "@@"}\n'),
    ("go-assign", "h.go", 'package g\nfunc f() { password := "@@"; use(password) }\n'),
    ("js", "j.js", "const password = '@@';\n"),
    ("js-obj", "k.js", "mongoose.connect(uri, {user: 'x', pass: '@@'})\n"),
    ("ts", "k.ts", "export const dbPassword: string = '@@'\n"),
    ("ruby", "r.rb", "config.password = '@@'\n"),
    ("ruby-hash", "s.rb", "{ :password => '@@' }\n"),
    ("php", "p.php", "<?php\ndefine('DB_PASSWORD', '@@');\n"),
    ("php-arr", "q.php", "<?php return ['password' => '@@'];\n"),
    ("rust", "r.rs", 'const PASSWORD: &str = "@@";\n'),
    ("c-define", "c.h", '#define DB_PASSWORD "@@"\n'),
    ("cpp", "c.cpp", 'std::string password = "@@";\n'),
    ("kotlin", "k.kt", 'val password = "@@"\n'),
    ("swift", "s.swift", 'let password = "@@"\n'),
    ("terraform", "m.tf", 'resource "x" "y" {\n  master_password = "@@"\n}\n'),
    ("tfvars", "m.tfvars", 'db_password = "@@"\n'),
    ("ansible", "a.yml", "ansible_become_pass: @@\n"),
    ("dockerfile", "Dockerfile", "FROM x\nENV DB_PASSWORD=@@\n"),
    ("docker-sp", "Dockerfile2", "FROM x\nENV DB_PASSWORD @@\n"),
    ("curl", "s.sh", "curl -u admin:@@ https://h\n"),
    ("mysql", "t.sh", "mysql -u root -p@@ db\n"),
    ("sshpass", "u.sh", "sshpass -p '@@' ssh h\n"),
    ("psql", "v.sh", "PGPASSWORD=@@ psql\n"),
    ("ps1", "w.ps1", "$password = '@@'\n"),
    ("ps1-sec", "x.ps1", 'ConvertTo-SecureString "@@" -AsPlainText -Force\n'),
    ("bat", "b.bat", "set DB_PASSWORD=@@\r\n"),
    ("netrc", ".netrc", "machine h login u password @@\n"),
    ("pgpass", ".pgpass", "localhost:5432:db:u:@@\n"),
    ("sql", "s.sql", "CREATE USER x IDENTIFIED BY '@@';\n"),
    ("sql-pg", "t.sql", "ALTER ROLE x WITH PASSWORD '@@';\n"),
    ("wpa", "wpa.conf", 'network={\n  ssid="x"\n  psk="@@"\n}\n'),
    ("md", "d.md", "The admin password is `@@`.\n"),
    ("md2", "e.md", "- user: admin\n- password: @@\n"),
    ("comment", "z.py", "# password: @@\nx = 1\n"),
    ("html", "l.html", '<input type="password" value="@@">\n'),
    (
        "notebook",
        "n.ipynb",
        '{"cells": [{"source": ["password = \'@@\'\\n"]}]}',
    ),
    ("csv", "u.csv", "user,password\nbob,@@\n"),
    ("table", "t.md", "| user | password |\n|---|---|\n| bob | @@ |\n"),
    ("sqlvals", "v.sql", "INSERT INTO users (name, password) VALUES ('bob', '@@');\n"),
    (
        "mvn",
        "settings.xml",
        "<settings><servers><server><id>x</id><passphrase>@@</passphrase></server></servers></settings>\n",
    ),
    ("lua", "l.lua", 'local password = "@@"\n'),
    ("elixir", "e.exs", 'config :app, Repo, password: "@@"\n'),
    ("clj", "c.clj", '{:password "@@"}\n'),
    ("scala", "S.scala", 'val password = "@@"\n'),
    ("perl", "p.pl", 'my $password = "@@";\n'),
    ("dart", "d.dart", 'final password = "@@";\n'),
    ("hs", "h.hs", 'password = "@@"\n'),
)


@pytest.mark.parametrize(("path", "text"), [row[1:] for row in NOTATIONS], ids=[row[0] for row in NOTATIONS])
def test_a_password_is_masked_in_each_notation(path, text):
    shown = [password for password in PASSWORDS if password in mask(text.replace("@@", password), path).text]
    assert shown == []


@pytest.mark.parametrize("word", ["iLoveCats", "swordfish", "monkeybars"])
def test_a_plain_word_is_masked_where_only_a_password_can_be(word):
    texts = {
        "a.py": f'url = "postgres://amelia:{word}@db/x"\n',
        ".netrc": f"machine h login amelia password {word}\n",
        "a.sql": f"CREATE USER amelia IDENTIFIED BY '{word}';\n",
    }
    assert [path for path, text in texts.items() if word in mask(text, path).text] == []


@pytest.mark.parametrize(
    "value",
    [
        "reset-password-form", "confirm-new-input", "custom-headers", "x-oauth-basic", "resetPasswordToken", "Passwort",
        "newUserPassword", "hashed", "passwordHasher", "scram-sha-256", "UserLoginForm", "contraseña", "current-value",
    ],
)  # fmt: skip
def test_names_of_fields_and_labels_are_not_passwords(value):
    text = f'{{"password": "{value}"}}\n'
    assert mask(text, "locale/messages.json").text == text


def test_password_columns_end_with_their_table():
    text = "| user | password |\n|---|---|\n| amelia | hunter2 |\n\n| user | word |\n|---|---|\n| amelia | hunter3 |\n"
    assert mask(text, "a.md").text == text.replace("hunter2", "*******")


def test_sql_rows_have_secrets_only_in_the_password_column():
    text = (
        "INSERT INTO u (password, name) VALUES\n  ('it''s-1-Secret', 'x1!y2(z)'),\n"
        "  ('b-22-Zoo', f('c3!!', 4));\nSELECT 'd4!e5';\n"
    )
    masked = mask(text, "a.sql").text
    assert masked == text.replace("it''s-1-Secret", "*" * 14).replace("b-22-Zoo", "*" * 8)


@pytest.mark.parametrize(
    "text",
    [
        "insert into t(password) values ((((\n" * 10_000,
        "insert into t(password) values ('\n" * 10_000,
        "| password |\n|--|--|\n" * 15_000,
        "password,x\n" + "a," * 200_000,
        " " * 400_000 + "|-- password",
    ],
)
def test_columns_are_searched_in_linear_time(text):
    started = time.process_time()
    mask(text, "a.csv")
    mask(text, "a.md")
    assert time.process_time() - started < 20
