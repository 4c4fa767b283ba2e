import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PROMISED_FORMS } from '../scripts/redaction-doc.ts';
import { redactLargeValue, redactText, redactValue } from '../src/json/index.ts';
import { readDataset } from './support/data.ts';
import { assertFree } from './support/loop-hold.ts';
import { random as randomNumbers } from './support/random.ts';
import { sized } from './support/size.ts';

/** Characters that look random but are the same in every run. */
function random(alphabet: string, length: number, seed = 7): string {
  const next = randomNumbers(seed);
  return Array.from({ length }, () => alphabet[next(alphabet.length)]).join('');
}
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const hex = (length: number, seed?: number) => random('0123456789abcdef', length, seed);
const alnum = (length: number, seed?: number) =>
  random(`${LOWER}${LOWER.toUpperCase()}${DIGITS}`, length, seed);
const upper = (length: number) => random(`${LOWER.toUpperCase()}234567`, length);
const base64 = (length: number) => random(`${LOWER}${LOWER.toUpperCase()}${DIGITS}+/`, length);
const digits = (length: number) => random('123456789', length);
const uuid = `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
const jwt = [`{"alg":"HS256","typ":"JWT"}`, `{"sub":"1234567890","name":"J"}`]
  .map((part) => Buffer.from(part).toString('base64url'))
  .join('.');
const pem = (kind: string, header = '') =>
  [
    '-----BEGIN ',
    kind,
    '-----\n',
    header,
    `${base64(64)}\n`.repeat(6),
    base64(20),
    '==\n-----END ',
    kind,
    '-----',
  ].join('');
const scheme = (name: string, rest: string) => [name, '://', rest].join('');

/** A secret in its text, and the part of it that must be gone. The parts are joined here, so that scanners stay calm. */
const SECRETS: readonly (readonly [name: string, text: string, secret: string])[] = [
  ...Object.entries({
    'Stripe secret key': ['sk', '_live_', alnum(24)],
    'Stripe restricted key': ['rk', '_test_', alnum(24)],
    'Okta API token': ['SS', 'WS 00', alnum(40)],
    Browserbase: ['bb_', 'live_', alnum(27)],
    Composio: ['a', 'k_', alnum(20)],
    'HTTP Digest': ['Digest username="ada", resp', 'onse="', hex(32), '"'],
    'Sentry organization token': ['sntr', 'ys_eyJpYXQiOjE2OTk5', base64(120), '==_', base64(43)],
    'Stripe webhook secret': ['wh', 'sec_', alnum(32)],
    'Hugging Face': ['h', 'f_', random(LOWER + LOWER.toUpperCase(), 34)],
    'Hugging Face organization': ['api_', 'org_', random(LOWER, 34)],
    npm: ['np', 'm_', alnum(36)],
    'Jenkins, encrypted': ['{AQ', 'AA', base64(40), '==}'],
    PyPI: ['py', 'pi-AgEIcHlwaS5vcmcC', alnum(70)],
    RubyGems: ['ruby', 'gems_', hex(48)],
    NuGet: ['o', 'y2', random(LOWER + DIGITS, 43)],
    'crates.io': ['c', 'io', alnum(32)],
    SendGrid: ['S', 'G.', alnum(22), '.', alnum(43)],
    'Google API key': ['AI', 'za', alnum(35)],
    'Google OAuth access token': ['ya', '29.', alnum(80)],
    'Google OAuth client secret': ['GOC', 'SPX-', alnum(28)],
    'Google OAuth refresh token': ['1/', '/0', alnum(60)],
    'Azure AD client secret': [alnum(3), '8Q', '~', alnum(34)],
    'Azure DevOps': [alnum(76), 'AZ', 'DO', alnum(4)],
    'Azure OpenAI': [alnum(52), 'JQ', 'QJ9', alnum(27)],
    'AWS access key': ['AK', 'IA', upper(16)],
    'AWS session key': ['AS', 'IA', upper(16)],
    'AWS Bedrock': ['AB', 'SK', base64(120)],
    'Amazon MWS': ['amzn', '.mws.', uuid],
    'Vault service token': ['hv', 's.', alnum(95)],
    'Vault batch token': ['hv', 'b.', alnum(140)],
    Docker: ['dckr', '_pat_', alnum(27)],
    Databricks: ['da', 'pi', hex(32)],
    'Slack bot token': ['xo', 'xb-', digits(12), '-', digits(12), '-', alnum(24)],
    'Slack user token': ['xo', 'xp-', digits(11), '-', digits(11), '-', digits(11), '-', hex(32)],
    'Slack app token': ['xa', 'pp-1-', upper(11), '-', digits(13), '-', hex(64)],
    'Slack rotating token': ['xoxe', '.xoxp-1-', alnum(160)],
    'Slack hook': ['https://hooks.', 'slack.com/services/T', upper(8), '/B', upper(8), '/', alnum(24)],
    'Discord hook': ['https://discord', '.com/api/webhooks/', digits(18), '/', alnum(68)],
    'Teams hook': [
      'https://acme.webhook',
      '.office.com/webhookb2/',
      uuid,
      '@',
      uuid,
      '/IncomingWebhook/',
      hex(32),
      '/',
      uuid,
    ],
    'Zapier hook': ['https://hooks', '.zapier.com/hooks/catch/', digits(7), '/', alnum(7)],
    'Discord bot token': [Buffer.from(digits(18)).toString('base64'), '.', alnum(6), '.', alnum(38)],
    'Telegram bot token': [digits(10), ':A', 'A', alnum(33)],
    'GitHub classic': ['gh', 'p_', alnum(36)],
    'GitHub OAuth': ['gh', 'o_', alnum(36)],
    'GitHub app': ['gh', 's_', alnum(36)],
    'GitHub fine-grained': ['github', '_pat_', alnum(22), '_', alnum(59)],
    'GitLab personal': ['gl', 'pat-', alnum(20)],
    'GitLab routable': ['gl', 'pat-', alnum(27), '.01.', random(LOWER + DIGITS, 9)],
    'GitLab deploy': ['gl', 'dt-', alnum(20)],
    'GitLab runner': ['gl', 'rt-', alnum(20)],
    'GitLab trigger': ['gl', 'ptt-', hex(40)],
    Bitbucket: ['AT', 'BB', alnum(32)],
    'Atlassian API token': ['AT', 'ATT3', alnum(180)],
    'OpenAI key': ['sk', '-', alnum(20), 'T3Blbk', 'FJ', alnum(20)],
    'OpenAI project key': ['sk', '-proj-', alnum(74), 'T3Blbk', 'FJ', alnum(74)],
    'Anthropic key': ['sk', '-ant-api03-', alnum(93), 'AA'],
    OpenRouter: ['sk', '-or-v1-', hex(64)],
    Langfuse: ['sk', '-lf-', uuid],
    Groq: ['gs', 'k_', alnum(52)],
    xAI: ['xa', 'i-', alnum(80)],
    Perplexity: ['pp', 'lx-', alnum(48)],
    Replicate: ['r', '8_', alnum(37)],
    NVIDIA: ['nv', 'api-', alnum(64)],
    LangSmith: ['ls', 'v2_pt_', hex(32), '_', hex(10)],
    Pinecone: ['pc', 'sk_', alnum(60)],
    Tavily: ['tv', 'ly-dev-', alnum(32)],
    ElevenLabs: ['sk', '_', hex(48)],
    E2B: ['e2', 'b_', hex(40)],
    PostHog: ['ph', 'x_', alnum(43)],
    'Twilio key': ['S', 'K', hex(32)],
    Mailgun: ['ke', 'y-', hex(32)],
    Mailchimp: [hex(32), '-u', 's14'],
    Brevo: ['xkey', 'sib-', hex(64), '-', alnum(16)],
    Resend: ['r', 'e_', alnum(8), '_', alnum(24)],
    'Shopify admin': ['sh', 'pat_', hex(32)],
    'Shopify shared secret': ['sh', 'pss_', hex(32)],
    Square: ['sq', '0atp-', alnum(22)],
    Razorpay: ['rz', 'p_live_', alnum(14)],
    Braintree: ['access', '_token$production$', random(LOWER + DIGITS, 16), '$', hex(32)],
    DigitalOcean: ['do', 'p_v1_', hex(64)],
    'Doppler personal': ['dp', '.pt.', alnum(43)],
    'Doppler service': ['dp', '.st.prd.', alnum(43)],
    Linear: ['lin', '_api_', alnum(40)],
    Notion: ['nt', 'n_', digits(11), alnum(35)],
    'Notion, old': ['sec', 'ret_', alnum(43)],
    PlanetScale: ['pscale', '_tkn_', alnum(43)],
    'PlanetScale password': ['pscale', '_pw_', alnum(43)],
    'Fly.io': ['fm', '2_', base64(120)],
    Supabase: ['sb', 'p_', hex(40)],
    'Supabase secret': ['sb', '_secret_', alnum(31)],
    Neon: ['na', 'pi_', random(LOWER + DIGITS, 64)],
    'MongoDB Atlas': ['mdb', '_sa_sk_', alnum(40)],
    'Sentry organization': ['sntr', 'ys_', base64(140)],
    'Sentry user': ['sntr', 'yu_', hex(64)],
    'New Relic user key': ['NR', 'AK-', upper(27)],
    'New Relic license': [hex(36), 'NR', 'AL'],
    'Grafana service account': ['gl', 'sa_', alnum(32), '_', hex(8)],
    'Grafana cloud': ['gl', 'c_', base64(60)],
    Dynatrace: [
      'dt',
      '0c01.',
      random(LOWER.toUpperCase() + DIGITS, 24),
      '.',
      random(LOWER.toUpperCase() + DIGITS, 64),
    ],
    'Terraform Cloud': [alnum(14), '.atlas', 'v1.', alnum(67)],
    Pulumi: ['pu', 'l-', hex(40)],
    Heroku: ['HR', 'KU-AA', alnum(58)],
    Netlify: ['nf', 'p_', alnum(36)],
    Tailscale: ['ts', 'key-auth-', alnum(17), '-', alnum(32)],
    Postman: ['PM', 'AK-', hex(24), '-', hex(34)],
    Figma: ['fig', 'd_', alnum(40)],
    Airtable: ['pa', 't', alnum(14), '.', hex(64)],
    HubSpot: ['pa', 't-na1-', uuid],
    Contentful: ['CF', 'PAT-', alnum(43)],
    Buildkite: ['bk', 'ua_', hex(40)],
    CircleCI: ['CCI', 'PAT_', alnum(22), '_', hex(40)],
    SonarQube: ['sq', 'p_', hex(40)],
    Artifactory: ['AK', 'Cp', alnum(69)],
    '1Password': ['A', '3-', upper(6), '-', upper(11), '-', upper(5), '-', upper(5), '-', upper(5)],
    age: ['AGE', '-SECRET-KEY-1', random('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)],
    LaunchDarkly: ['sd', 'k-', uuid],
    Axiom: ['xa', 'at-', uuid],
    Trello: ['AT', 'TA', hex(64)],
    Alibaba: ['LT', 'AI', alnum(20)],
    JWT: [jwt, '.', alnum(43)],
    'PEM private key': [pem('PRIVATE KEY')],
    'RSA private key': [pem('RSA PRIVATE KEY')],
    'encrypted PEM': [
      pem('RSA PRIVATE KEY', `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,${hex(32).toUpperCase()}\n\n`),
    ],
    'OpenSSH private key': [pem('OPENSSH PRIVATE KEY')],
    'PGP private key': [pem('PGP PRIVATE KEY BLOCK', 'Version: GnuPG v2\n\n')],
    'PEM in JSON': [pem('PRIVATE KEY').replaceAll('\n', '\\n')],
    'PEM without its end': [pem('PRIVATE KEY').slice(0, 300)],
    'Basic credentials': ['Basic ', Buffer.from('aladdin:opensesame').toString('base64')],
    'Bearer token': ['Bearer ', alnum(40)],
  }).map(([name, parts]) => [name, `Use ${parts.join('')} for it`, parts.join('').slice(-16)] as const),
  ...(
    [
      ['redis without a user', scheme('redis', ':XX@cache:6379/0')],
      ['PostgreSQL', scheme('postgresql', 'app:XX@db:5432/app')],
      ['MongoDB', scheme('mongodb+srv', 'app:XX@cluster0.mongodb.net/?retryWrites=true')],
      ['AMQP', scheme('amqp', 'guest:XX@mq/%2f')],
      ['HTTPS', scheme('https', 'bob:XX@example.com/path')],
      ['Git with a token', scheme('https', `x-access-token:XX@git.example.com/a.git`)],
      ['sign in a password', scheme('mysql', 'root:XX@@db:3306/app')],
      [
        'Azure connection string',
        'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=XX==;EndpointSuffix=core.windows.net',
      ],
      ['Service Bus', 'Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=XX='],
      ['Azure signature', 'https://a.blob.core.windows.net/c/f?sv=2022-11-02&sr=b&sig=XX%3D&se=2026-01-01'],
      ['AWS presigned', 'https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=XX'],
      ['AWS session token in a URL', 'https://b.s3.amazonaws.com/k?X-Amz-Security-Token=XX&X-Amz-Date=1'],
      ['Google signed', 'https://storage.googleapis.com/b/o?X-Goog-Date=20260101&X-Goog-Signature=XX'],
      ['AWS secret key', 'aws_secret_access_key = XX'],
      ['SQL Server', 'Server=db;Database=app;User Id=sa;Password=XX;Encrypt=true'],
      ['environment', 'export DATABASE_PASSWORD=XX\n'],
      ['environment, words', 'DB_PASSWORD=correcthorse\n', 'correcthorse'],
      ['YAML', 'api_key: XX\n'],
      ['quoted', `password = "XX"`],
      ['JSON', '{"password":"XX"}'],
      ['JSON in JSON', '{"body":"{\\"client_secret\\":\\"XX\\"}"}'],
      ['query', 'https://api.example.com/v1?access_token=XX&x=1'],
      ['option', 'deploy --token XX --force'],
      ['option with a sign', 'deploy --password=XX'],
      ['header', 'Authorization: Bearer XX\r\nAccept: */*'],
      ['header of a token', 'Authorization: Token XX'],
      ['header in curl', `curl -H "X-Api-Key: XX" https://example.com`],
      ['cookie', 'Cookie: theme=dark; sid=XX\r\n'],
      ['set-cookie', 'Set-Cookie: sid=XX; Path=/; HttpOnly'],
      ['header call', `request.setHeader('Authorization', 'Bearer XX')`],
      ['curl', 'curl -s -u bob:hunter22x https://example.com', 'hunter22x'],
      ['sshpass', `sshpass -p 'hunter22x' ssh bob@host`, 'hunter22x'],
      ['netrc', 'machine example.com login bob password hunter22x', 'hunter22x'],
      ['prose', 'Reset the password: hunter22 for bob', 'hunter22'],
      ['Twitter', `twitter_api_key = "${alnum(25)}"`, alnum(25)],
      ['Datadog', `datadog_api_key: ${alnum(40)}`, alnum(40)],
      ['Heroku', `HEROKU_API_KEY=${uuid}`, uuid],
    ] as const
  ).map(([name, text, secret = alnum(40)]) => [name, text.replaceAll('XX', secret), secret] as const),
];

test('secrets of every form are found, also in JSON, and redacting again changes nothing', () => {
  assert.ok(SECRETS.length >= 150);
  const missed: string[] = [];
  for (const [name, text, secret] of SECRETS) {
    for (const [where, around] of [
      ['alone', text.replace(/^Use (.*) for it$/s, '$1')],
      ['in a sentence', text],
      ['in a log line', `2026-01-01T00:00:00Z INFO sent ${text}`],
      ['in a list', `- ${text}\n- next`],
      ['twice', `${text}\n${text}`],
    ] as const) {
      const out = redactText(around);
      if (out.includes(secret)) missed.push(`${name} ${where}: ${out}`);
      assert.equal(redactText(out), out, name);
    }
    const value = { list: [{ text }], n: 1, [text]: true };
    const redacted = redactValue(value);
    if (JSON.stringify(redacted).includes(secret)) missed.push(`${name} in a value`);
    assert.deepEqual(redactValue(redacted), redacted, name);
  }
  assert.deepEqual(missed, []);
});

test('each form that the documentation lists loses its secret, and no more the second time', () => {
  for (const [form, ...examples] of PROMISED_FORMS) {
    for (const example of examples) {
      const out = redactText(example);
      assert.match(out, /\[redacted: [a-z ]+\]/, `${form}: ${example}`);
      assert.doesNotMatch(out, /hunter|correcthorse|abcdefgh1/, `${form}: ${example}`);
      assert.equal(redactText(out), out, `${form}: ${example}`);
    }
  }
});

test('what stands under the name of a secret goes whatever its form, and what only sounds like one stays', () => {
  const secret = 'correct-horse-battery';
  const names =
    'token authorization cookie set-cookie clientSecret client_secret secretKey secret_key passphrase password passwd apiKey api_key ' +
    'x-api-key accessToken access_token refreshToken refresh_token id_token privateKey private_key sessionToken SecretAccessKey ' +
    'SessionToken secretString webhookSecret signingKey encryptionKey dbPassword DB_PASSWORD db_pass auth_token bearerToken csrfToken ' +
    'userPassword credentials AccountKey sharedAccessKey mnemonic';
  for (const name of names.split(' ')) {
    assert.deepEqual(redactValue({ [name]: secret }), { [name]: '[redacted: secret]' }, name);
    assert.deepEqual(redactValue({ [name]: [secret] }), { [name]: ['[redacted: secret]'] }, name);
    assert.ok(!redactText(JSON.stringify({ a: 1, [name]: secret })).includes(secret), name);
  }
  const kept = {
    next_page_token: secret,
    nextPageToken: secret,
    progressToken: secret,
    eos_token: '</s>',
    token_type: 'Bearer',
    max_tokens: 100,
    tokens: ['correct', 'horse'],
    password_policy: 'at least twelve characters',
    passwords: 3,
    authorizationUrl: 'https://example.com/oauth/authorize',
    cookiePolicy: 'necessary cookies only',
    secretary: 'Ann Miller-Smith',
    publicKey: secret,
    key: secret,
    password: 'Your password must have 12 characters',
    authorization: 'required',
    pwd: '/home/bob',
    logprobs: [{ token: 'information', logprob: -0.1 }],
    description: { token: { type: 'string' } },
  };
  assert.deepEqual(redactValue(kept), kept);
});

/** Texts that are often taken for secrets. */
function benignTexts(): string[] {
  const texts = [
    'Basic understanding of maths',
    'Basic authentication is deprecated. Basic YWJjZGVmZ2hpamtsbW5vcA',
    'Bearer authentication-scheme-registry entries',
    'The secret: honesty matters',
    'The token: a small piece of text',
    'Password: minimum 12',
    'Password: at least 8 characters, one digit',
    'password: string;',
    'const password = getPassword(user);',
    'const token = tokens[index1];',
    'login(user=user, password=password)',
    'api_key=os.environ["API_KEY"]',
    'OPENAI_API_KEY=$OPENAI_API_KEY',
    'Authorization: Bearer <token>',
    'Authorization: Bearer $TOKEN',
    'Authorization: required',
    'Cookie: we use cookies to improve our service',
    'token: null, secret: undefined, password: ********',
    'sk-learn-based-classification-pipeline',
    'the scikit-learn sk-learn-0-24-compat release',
    'task-scheduler-for-long-running-background-jobs',
    'see https://example.com:8443/path@2x.png and git@github.com:org/repo.git',
    'ssh://git@github.com/org/repo.git',
    'mailto:bob@example.com, http://localhost:3000/a?b=c@d',
    'passwd:         files systemd',
    'PWD=/home/bob/project OLDPWD=/home/bob',
    '-----BEGIN PRIVATE KEY----- begins a key, -----END PRIVATE KEY----- ends it',
    `-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUY3${base64(48)}\n-----END CERTIFICATE-----`,
    `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${base64(43)} bob@host`,
    'session keys, api keys and secret keys are rotated',
    'key: value, keys: 12, primary_key: id1234, sort_key=created_at2',
    'asking for the pass phrase: three words',
    'passphrase: required, sig=verified',
    '--password PASSWORD   the password',
    'max_tokens=4096 next_page_token=CAUQAA1234567890',
    'key-value-store-1234 npm_config_registry npm_package_version',
    'hf_hub_download pypi-server github_pat_ ghp_ AKIA AIza eyJ',
    'AKIA is the prefix; ASIAPACIFICREGIONAL is not a key',
    'version=v1.2.3-beta.4 secret_version: v12 token_count: 1234567',
    'The authorization code flow: code1 is exchanged for token2',
  ];
  for (let seed = 1; seed <= sized(30, 150); seed += 1) {
    const bytes = Buffer.from(hex(64, seed), 'hex');
    texts.push(
      `id ${hex(8, seed)}-${hex(4, seed)}-4${hex(3, seed)}-a${hex(3, seed)}-${hex(12, seed)}`,
      `commit ${hex(40, seed)}\nAuthor: Bob <bob@example.com>`,
      `sha256:${hex(64, seed)}  md5 ${hex(32, seed)}`,
      `data:image/png;base64,${Buffer.concat([bytes, bytes, bytes]).toString('base64')}`,
      `"integrity": "sha512-${Buffer.concat([bytes, bytes]).toString('base64')}"`,
      `trace_id=${hex(32, seed)} span_id=${hex(16, seed)} duration=${seed}.5ms status=200`,
    );
  }
  return texts;
}

test('prose, code, logs, ids, hashes and real tool results stay as they are', () => {
  const texts = benignTexts();
  for (const name of ['architecture', 'postgres', 'collector', 'page', 'interaction', 'threat-model']) {
    texts.push(...readFileSync(`docs/${name}.md`, 'utf8').split('\n\n'));
  }
  for (const file of ['policy/agentdojo_v1_2_tool_outputs.jsonl', 'mcp_sessions.jsonl', 'mcp_tools.jsonl']) {
    texts.push(...(readDataset(file) ?? []).slice(0, 400).map((row) => JSON.stringify(row)));
  }
  // The one that changes a password.
  const benign = texts.filter((text) => !text.includes('"password":"1j1l-2k3j"'));
  assert.ok(benign.length > 1_000, String(benign.length));
  assert.deepEqual(
    benign.filter((text) => redactText(text) !== text),
    [],
  );
});

test('redacting is idempotent on anything put together from secrets, marks and what they are made of', () => {
  const pieces = [
    ...SECRETS.map(([, text]) => text),
    '[redacted: token]',
    '[redacted',
    ']',
    '"',
    '\\"',
    "'",
    '=',
    ':',
    ' ',
    '\n',
    '://',
    '@',
    'password',
    'token=',
    'Cookie: a=',
    'Authorization: ',
    'The ',
    ' is the ',
    'sk-',
    'curl -u ',
    'machine a login b ',
    'eyJ',
    '-----BEGIN PRIVATE KEY-----',
    'hunter22',
    ',',
    '--secret ',
    '&sig=',
  ];
  const next = randomNumbers(1);
  for (let round = 0; round < sized(200, 1_200); round += 1) {
    let text = '';
    for (let count = 2 + next(5); count > 0; count -= 1) {
      const piece = pieces[next(pieces.length)] as string;
      text += next(3) === 0 ? piece.slice(next(piece.length + 1)) : piece.slice(0, 1 + next(piece.length));
    }
    const once = redactText(text);
    assert.equal(redactText(once), once, JSON.stringify(text));
    const value = { password: text, token: [text], [text]: { authorization: text, note: text } };
    const clean = redactValue(value);
    assert.deepEqual(redactValue(clean), clean, JSON.stringify(text));
  }
});

const MEGABYTE = 1_048_576;

/** Texts made to take long: each repeats what announces a secret, without being one or with many. */
const HOSTILE = [
  'eyJ',
  '-eyJ',
  'eyJaaaaaaaa.',
  'sk-',
  'token=',
  'password=',
  'token="',
  'password:',
  "secret:'",
  'a://',
  'a://b:',
  'Cookie: a=',
  '-----BEGIN PRIVATE KEY-----\n',
  `-----BEGIN PRIVATE KEY-----\n${'A'.repeat(40)}!`,
  'password=hunter22 ',
  '1234567890:AA',
  'Basic AAAAAAAA',
  '[redacted: ',
  '[redacted: token]',
  'sntrys_eyJpYXQiO',
  'npm_',
  '\\',
  '"',
  'authorization: ',
];

test('the event loop turns while a value made to take long is redacted', async () => {
  const values: Record<string, unknown> = Object.fromEntries(
    HOSTILE.map((piece) => [piece, { text: piece.repeat(MEGABYTE / sized(16, 4) / piece.length) }]),
  );
  values.jwt = `eyJ${'a'.repeat(MEGABYTE)}`;
  values.members = Object.fromEntries(
    Array.from({ length: sized(10_000, 50_000) }, (_, at) => [`member ${at}`, at]),
  );
  values.numbers = Array.from({ length: sized(60_000, 300_000) }, (_, at) => at);
  values.key = { ['token='.repeat(MEGABYTE / 6)]: 1 };
  values.list = Array.from({ length: 20_000 }, () => 'password: x');
  for (const [name, value] of Object.entries(values)) {
    await assertFree(name, () => redactLargeValue(value));
  }
});

test('a text in which each replacement makes the end of another secret is redacted, and does not exhaust the stack', () => {
  const text = 'password='.repeat(MEGABYTE / sized(36, 9));
  const once = redactText(`${text}hunter22\nThe report is ready. ${'plain words, '.repeat(1_000)}`);
  assert.ok(once.includes('[redacted: secret]'));
  assert.ok(once.endsWith('plain words, '.repeat(1_000)), 'what the chain does not reach stays');
  assert.equal(redactText(once), once);
});

test('members whose names are those of session cookies lose their values', () => {
  const value = hex(26);
  for (const name of ['PHPSESSID', 'JSESSIONID']) {
    assert.deepEqual(redactValue({ cookies: { [name]: value } }), {
      cookies: { [name]: '[redacted: secret]' },
    });
  }
});
