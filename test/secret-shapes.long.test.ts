import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactText, redactValue } from '../src/json/index.ts';
import { random } from './support/random.ts';
import { sized } from './support/size.ts';

/** A token, a password, a word for a password, and a longer run: put together here, so that scanners stay calm. */
const S = ['Kq7vW2xn', 'B4rT9zLm'].join('');
const P = 'hunter2!x';
const W = ['correct', 'horse', 'battery'].join('');
const LONG = ['Zk3vTq8LmW1xYb6NcR5sHd9JfG2pUa4e', 'Vo7iKt0ZwQxMlEnBrCyShDgFjPuAkOvI'].join('');
const HEX = ['1f23456789abcdef', '0123456789abcde7'].join('');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const PEM = ['-----BEGIN RSA PRIV', 'ATE KEY-----\nMIIEpAIBAAKCAQEA7\n'].join('');

/** Texts with S, P, W or the part named, all of which must go. */
const TEXTS: readonly (readonly [text: string, secret?: string])[] = [
  // A name and a value as members of one thing
  [`{"name":"password","value":"${W}"}`],
  [`{"Key":"DbPassword","Value":"${P}"}`],
  [`{"name":"password","type":"string","value":"${P}"}`],
  [`{\\"name\\":\\"password\\",\\"value\\":\\"${P}\\"}`],
  [`{name: 'api_key', value: '${S}'}`],
  [`{"key":"db.password","value":{"stringValue":"${W}"}}`],
  [`- name: DB_PASSWORD\n  value: ${W}\n- name: X\n`],
  [`{"file":"- name: DB_PASSWORD\\n  value: ${W}\\n"}`],
  [`env:\n  LOG: info\n  DB_PASSWORD: ${W}\n`],
  [`[client]\nuser = root\npassword = ${W}\nhost = db`],
  [`db.example.com:5432:shop:bob:${W}`],
  [`[["content-type","a"],["authorization","Bearer ${S}"]]`],
  [`{"name":"Cookie","value":"sid=${S}; theme=dark"}`],
  // SQL
  [`CREATE USER bob IDENTIFIED BY '${W}';`],
  [`ALTER USER 'bob'@'%' IDENTIFIED WITH mysql_native_password BY '${P}'`],
  [`CREATE ROLE bob WITH LOGIN PASSWORD '${W}'`],
  // Commands
  [`mysql -u root -p${P} shop`],
  [`tool --password=${W} go`],
  [`tool --password ${W} go`],
  [`docker login -u bob -p ${P} reg.io`],
  [`az login --service-principal -u app -p ${S} --tenant t`],
  [`curl -u "bob:${P}" https://example.com`],
  [`PGPASSWORD=${W} psql -h db`],
  [`redis-cli -h cache -a ${P} ping`],
  [`setx API_KEY ${S}`],
  [`os.Setenv("API_KEY", "tangerine")`, 'tangerine'],
  [`std::env::set_var("DB_PASSWORD", "tangerine");`, 'tangerine'],
  [`System.setProperty("javax.net.ssl.keyStorePassword", "tangerine");`, 'tangerine'],
  [`{"code": "System.put_env(\\"DB_PASSWORD\\", \\"tangerine\\")"}`, 'tangerine'],
  [`ENV DB_PASSWORD ${P}`],
  [`FROM x\\nENV DB_PASSWORD ${W}\\nRUN y`],
  [`First run setx /M API_KEY \\"${S}\\" and open a terminal.`],
  [`Run: set -gx DB_PASSWORD ${W}; and start`],
  [`docker run -e POSTGRES_PASSWORD=${W} -p 5432:5432 postgres`],
  [`{"command":"PGPASSWORD=${W} psql -h db"}`],
  [`{"file":"environment:\\n  - MYSQL_ROOT_PASSWORD=${W}\\n  - X=1\\n"}`],
  // Files
  [`{"passwords":["${P}","${W}"]}`, W],
  [`client-key-data: ${base64(PEM)}\n`, base64(PEM).slice(0, 40)],
  [`default login anonymous password ${P}`],
  [`{"auths":{"https://index.docker.io/v1/":{"auth":"${base64(`bob:${P}`)}"}}}`, base64(`bob:${P}`)],
  [`//registry.npmjs.org/:_authToken=${S}`],
  [`Driver={SQL};UID=sa;PWD={${P}};`],
  [`host=db user=bob password=${W} dbname=x`],
  [`network={\n ssid="home"\n psk="${W}"\n}`],
  // Keys
  [`> ${PEM}> ${`${LONG}\n> `.repeat(4)}-----END RSA PRIVATE KEY-----`, LONG],
  [`bob:$6$rounds=5000$Zk3vTq8LmW1x$${LONG}:19000:0:99999:7:::`, LONG],
  [`otpauth://totp/ACME:bob?secret=JBSWY3DPEHPK3PXP&issuer=ACME`, 'JBSWY3DPEHPK3PXP'],
  // Encodings
  [`password: \u201c${P}\u201d`],
  [`{&quot;password&quot;:&quot;${P}&quot;}`],
  [`%7B%22password%22%3A%22${S}%22%7D`],
  [`next=/cb%3Faccess_token%3D${S}%26x%3D1`],
  // Prose
  [`The password is ${P}.`],
  ['the password is hunter2secret', 'hunter2secret'],
  ['Password=abc;', 'abc'],
  ['https://example.com/login?user=bob&pwd=abc', 'abc'],
  [`{"private_key_id":"${HEX}00000000"}`, HEX],
  ...[':', ' ', ', auth token: ', '" "'].map(
    (between) => [`AC${HEX}${between}${HEX}`, between + HEX] as const,
  ),
  [`SK${HEX}:${S}${S}`],
  [`my API key is ${S}, ok?`],
  [`**Password:** \`${P}\``],
  [`API Key: ${S}`],
  [`"new_password_confirmation":"${P}"`],
  [`{"device_code":"${S}${S}","user_code":"WDJB-MJHT"}`],
];

/** JSON values, of which the texts must go. */
const VALUES: readonly (readonly [value: unknown, secret: string])[] = [
  [{ name: 'password', value: W }, W],
  [{ Key: 'secret', Value: P }, P],
  [{ key: 'db.password', value: { stringValue: W } }, W],
  [
    {
      headers: [
        ['content-type', 'a'],
        ['x-api-key', W],
      ],
    },
    W,
  ],
  [{ rawHeaders: ['Host', 'a', 'Authorization', `Digest ${S}`] }, S],
  [{ password: { value: W } }, W],
  [{ password: 48_291_736 }, '48291736'],
  [{ password: Buffer.from(P).toJSON() }, '104,117,110'],
  [{ kind: 'Secret', data: { database: base64('open sesame') } }, base64('open sesame')],
  [['tool', '--password', W], W],
  [{ recovery_codes: ['8842-1937'] }, '8842-1937'],
];

/** Texts in which the same words say something else. */
const BENIGN = [
  '{"name":"password","type":"string","description":"The password of the user"}',
  '{"name":"token","value":"a small piece of text"}',
  '[{"name":"password","required":true},{"name":"q","value":"weather in Rome"}]',
  '{"type":"object","properties":{"password":{"type":"string"}},"required":["password","username"]}',
  '{"type":"token","value":"identifier"}',
  '<input type="password" name="password" placeholder="At least 8 characters">',
  '| option | password | token |\n|---|---|---|\n| required | yes | no |',
  '| `password` | string | the password |',
  'name, password, and token are three fields.\nThey are required.',
  'users are identified by their name, accounts are identified by `id`',
  "INSERT INTO t (name, age) VALUES ('bob', 12)",
  'docker run -p 8080:80 nginx; mysql -P3306 -h db; unzip -p archive.zip; mkdir -p build2/x',
  'tool --password PASSWORD   the password; --token string   a token',
  'use --password to set it, or --token from a file',
  'password:\n  type: string\n  description: |\n    of the user\n',
  'The password is required. The token is base64-encoded. The secret is out.',
  'Password for bob: required',
  'API key: see the dashboard at https://example.com/keys2',
  'error code: E1234, exit code: 127, zip code: 90210b, status code 404',
  'пароль: не менее 8 символов. 密码：至少8位',
  'senhas, resenha: livro2024; mdp5; parole d’honneur',
  `account AC${HEX}, trace ${HEX}${HEX}, and AC${HEX} again`,
  'Seed phrase: twelve words, keep them safe',
  'Recovery codes: keep them in a safe place',
  'host:8080:a:b and 12:30:00:123',
  'const password=input;',
  'const API_KEY=settings;',
  'API_KEY: configured\nENV variables such as API_KEY hold it.',
  'setError("password", "Password is required"); os.Setenv("MODE", "token"); setProperty("user.name", "somebody")',
  'Use setx API_KEY to keep it; ENV DB_PASSWORD is read at start.',
  'If DB_PASSWORD=empty it stops. ENV TOKEN_LIMIT 4096',
  'password = getpass\npassword: forgotten\n',
  'const session = await getSession(token1, key2);',
];

test('a name and its value are found in pairs, statements, commands, files, encodings and prose; twice changes nothing', () => {
  const missed: string[] = [];
  for (const [text, part] of TEXTS) {
    const secrets = part === undefined ? [S, P, W] : [part];
    for (const around of [text, `2026-01-01 INFO said\n\n${text}`, `${text}\n\nThen it went on.`]) {
      const out = redactText(around);
      if (secrets.some((secret) => out.includes(secret))) missed.push(out);
      assert.equal(redactText(out), out, text);
    }
  }
  for (const [value, secret] of VALUES) {
    const out = redactValue(value);
    if (JSON.stringify(out).includes(secret)) missed.push(JSON.stringify(out));
    assert.deepEqual(redactValue(out), out);
  }
  assert.deepEqual(missed, []);
});

test('the same words in schemas, docs, code and prose stay', () => {
  for (const text of BENIGN) assert.equal(redactText(text), text);
  const schema = { columns: ['name', 'password'], rows: [['bob', true]], required: ['password', 'token'] };
  assert.deepEqual(redactValue(schema), schema);
});

test('redacting is idempotent on pieces of all forms', () => {
  const pieces = [
    ...TEXTS.map(([text]) => text),
    ...BENIGN,
    '[redacted: secret]',
    '"',
    '\n',
    '|',
    ',',
    '{',
    '}',
    '"name":"',
    '%22',
  ];
  const next = random(3);
  for (let round = 0; round < sized(300, 5_000); round += 1) {
    let text = '';
    for (let count = 2 + next(5); count > 0; count -= 1) {
      const piece = pieces[next(pieces.length)] as string;
      text += next(3) === 0 ? piece.slice(next(piece.length + 1)) : piece.slice(0, 1 + next(piece.length));
    }
    const once = redactText(text);
    assert.equal(redactText(once), once, JSON.stringify(text));
  }
});
