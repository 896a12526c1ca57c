import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hideKeyLines } from './key.ts';
import { Redaction } from './redaction.ts';

// Put together here, so that no scanner takes this file for a leak.
const hash = (seed: string, encoding: 'hex' | 'base64url' = 'base64url'): string => createHash('sha512').update(seed).digest(encoding);
const word = (seed: string, length: number): string => hash(seed).replaceAll(/[-_]/g, '7').slice(0, length);
const key = (kind: string): string =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${hash('a').slice(0, 64)}\n${hash('b').slice(0, 64)}\n${hash('c').slice(0, 20)}==\n-----END ${kind}PRIVATE KEY-----\n`
    .replaceAll('_', 'x')
    .replaceAll(/(?<=\n[^-\n]{0,64})-(?=[^-\n])/g, 'y');

const secrets: readonly (readonly [string, string])[] = [
  ['CloudKey', ['AKIA', 'ABCDEFGH23456777'].join('')],
  ['CloudKey', `AIza${word('g', 35)}`],
  ['Token', `ghp_${word('h', 36)}`],
  ['Token', `github_pat_${word('p', 70)}`],
  ['Token', `glpat-${word('l', 20)}`],
  ['Token', ['xoxb', '123456789012', word('s', 24)].join('-')],
  ['Token', `sk_live_${word('t', 24)}`],
  ['Token', `npm_${word('n', 36)}`],
  ['Token', `sk-ant-${word('i', 80)}`],
  ['Token', `hvs.${word('v', 40)}`],
  ['Token', ['xoxc', '123456789012', word('s', 24)].join('-')],
  ['Token', `whsec_${word('u', 32)}`],
  ['Jwt', `eyJ${word('j', 30)}.eyJ${word('k', 60)}.${word('m', 43)}`],
  ['HighEntropy', `q8${word('e', 40)}Z`],
];

const redact = (text: string, declared: readonly string[] = []) => {
  const redaction = new Redaction(() => undefined);
  redaction.secrets.replace(declared.map((value, n) => ({ name: `s${n}`, value })));
  const one = redaction.open();
  return { text: one.text(text), counts: one.counts };
};

describe('redaction', () => {
  it.each(secrets)('takes out a %s: %s', (kind, secret) => {
    for (const [before, after] of [
      ['', ''],
      ['x = "', '"\n'],
      ['https://h/?q=', '&b=1'],
      ['--flag=', ' next'],
    ] as const) {
      const { text, counts } = redact(`${before}${secret}${after}`);
      expect(text).not.toContain(secret.slice(4));
      expect(text.startsWith(before) && text.endsWith(after), text).toBe(true);
      expect(Object.keys(counts ?? {}), text).toEqual([kind]);
      expect(text).toContain(`[REDACTED:${kind}]`);
    }
  });

  it.each(['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])('takes out a %sprivate key, with its lines or in one', (kind) => {
    const text = `before\n${key(kind)}after\n`;
    expect(redact(text)).toEqual({ text: 'before\n[REDACTED:PrivateKey]\nafter\n', counts: { PrivateKey: 1 } });
    const json = JSON.stringify({ a: 1, key: key(kind), b: 2 });
    expect(redact(json)).toEqual({ text: '{"a":1,"key":"[REDACTED:PrivateKey]\\n","b":2}', counts: { PrivateKey: 1 } });
    const diff = text.replaceAll(/^/gm, '+');
    expect(redact(diff).text).toBe('+before\n+[REDACTED:PrivateKey]\n+after\n+');
  });

  const lines = key('RSA ').trimEnd().split('\n');
  it.each<readonly [string, string]>([
    ['cat -n', lines.map((line, n) => `${String(n + 9).padStart(6)}\t${line}`).join('\n')],
    ['grep -n', lines.map((line, n) => `${n + 9}:${line}`).join('\n')],
    ['diff', lines.map((line) => `> ${line}`).join('\n')],
    ['logs of a pod', lines.map((line, n) => `2026-01-02T03:04:05.${n}07Z web-1  | ${line}`).join('\n')],
    ['strings that are joined', lines.map((line) => `  "${line}\\n" +`).join('\n')],
    ['a variable of a shell', `key is ${lines.join(' ')} so far`],
    [
      'logs of Docker',
      lines.map((line, n) => JSON.stringify({ log: `${line}\n`, stream: 'stdout', time: `2026-01-02T03:04:05.${n}07Z` })).join('\n'),
    ],
    ['logs as JSON', lines.map((line, n) => JSON.stringify({ time: 1767312000123 + n, msg: line })).join('\n')],
    ['a page', lines.join('<br>\n')],
    ['colours', lines.map((line, n) => `\u001B[32m${n}\u001B[m:${line}\u001B[K`).join('\n')],
    ['a bare carriage return', lines.join('\r')],
    ['blank lines between', lines.join('\r\n\r\n')],
    ['a list', JSON.stringify(lines)],
    ['JSON within JSON', JSON.stringify(JSON.stringify({ key: `${lines.join('\r\n')}\n` }))],
    ['escaped slashes', JSON.stringify(lines.join('\n')).replaceAll(/[x/]/g, '\\/')],
    [
      'JSON of an encrypted one',
      JSON.stringify([lines[0], 'Proc-Type: 4,ENCRYPTED', 'DEK-Info: AES-128-CBC,0A1B', '', ...lines.slice(1)].join('\n')),
    ],
    ['PGP', [lines[0], 'Version: GnuPG v2', '', ...lines.slice(1, -1), '=aB3d', lines.at(-1)].join('\n')],
  ])('takes out a private key as %s shows it, and nothing behind it', (_how, shown) => {
    const text = `before\n${shown}\nafter ${word('m', 12)}\nand more\n`;
    const found = redact(text);
    for (const line of lines.slice(1, -1)) expect(found.text).not.toContain(line.slice(0, 12));
    expect(found.text).toMatch(/^before\n.*\[REDACTED:PrivateKey\]/);
    expect(found.text.endsWith(`\nafter ${word('m', 12)}\nand more\n`), found.text).toBe(true);
    expect(found.counts).toEqual({ PrivateKey: 1 });
    expect(hideKeyLines(text).split('\n')).toHaveLength(text.split('\n').length);
    const apart = hideKeyLines(text)
      .split('\n')
      .map((line) => redact(line).text)
      .join('\n');
    for (const line of lines.slice(1, -1)) expect(apart).not.toContain(line.slice(0, 12));
    expect(apart).toContain('\nand more\n');
  });

  it('hides no line after the mere mention of a key', () => {
    const source = "begin: '-----BEGIN PRIVATE KEY-----',\nkind: 'Token',\nport: 8080,\n";
    expect(redact(source).text).toBe("begin: '[REDACTED:PrivateKey]',\nkind: 'Token',\nport: 8080,\n");
    expect(hideKeyLines(source)).toBe(source);
    const text = 'grep -----BEGIN PRIVATE KEY-----\nFAIL\nok\nTestNameThatIsLong\n';
    expect(redact(text).text).toBe('grep [REDACTED:PrivateKey]\nFAIL\nok\nTestNameThatIsLong\n');
    const json = `{"a":"-----BEGIN PRIVATE KEY-----","n":1}\r\n{"a":"TestNameThatIsLong","n":2}\r\n${hash('x', 'hex').slice(0, 40)}\n`;
    expect(redact(json).text).toBe(json.replace(/-----.*?-----/, '[REDACTED:PrivateKey]'));
  });

  it('takes out passwords of URLs and of headers, and what is assigned to names', () => {
    const value = `R4${word('w', 14)}9`;
    expect(redact(`git clone https://me:${value}@host/a.git`).text).toBe('git clone https://me:[REDACTED:UrlPassword]@host/a.git');
    expect(redact(`curl -s -u me:${value} https://host/`).text).toBe('curl -s -u me:[REDACTED:UrlPassword] https://host/');
    expect(redact(`Authorization: Bearer ${value}`).text).toBe('Authorization: Bearer [REDACTED:Token]');
    for (const [before, after] of [
      ['DB_PASSWORD=', '\n'],
      ['"apiKey": "', '",'],
      ["  client_secret => '", "'"],
      ['token: ', ''],
      ['{\\"password\\": \\"', '\\"}'],
      ["secret = b'", "'"],
      ['mysql --password ', ' -h db'],
      ['<db:password>', '</db:password>'],
      ['machine h\r\n  login me\r\n  password ', '\r\n'],
      ['ENV API_TOKEN ', '\n'],
      ['authorization: ', '\n'],
      ['RAILS_MASTER_KEY=', '\n'],
    ] as const)
      expect(redact(`${before}${value}${after}`)).toEqual({ text: `${before}[REDACTED:Assigned]${after}`, counts: { Assigned: 1 } });
  });

  const login = Buffer.from('me:correct horse').toString('base64');
  const base64 = (bytes: number): string =>
    createHash('sha512').update('s').digest('base64').repeat(99).replaceAll('=', 'q').slice(0, bytes);
  const [signed, encoded] = [`${encodeURIComponent(base64(43))}%3D`, Buffer.from(key('RSA ')).toString('base64')];
  it.each<readonly [string, string, string, string]>([
    ['UrlPassword', 'machine h login me password ', 'correcthorse', '\n'],
    ['UrlPassword', 'default\tlogin me account a password ', 'correcthorse', ' machine'],
    ['UrlPassword', 'db.host:5432:app:me:', `R4${word('w', 14)}9`, '\n'],
    ['UrlPassword', 'docker login -u me -p ', 'correcthorse', ' h'],
    ['UrlPassword', 'git clone https://', hash('u', 'hex').slice(0, 40), '@h/a'],
    ['UrlPassword', 'root:', 'correcthorse', '@tcp(h:3306)/db'],
    ['Token', '{"h": {"auth": "', login, '"}}'],
    ['Token', '{\\"auth\\":\\"', login, '\\"}'],
    ['Token', '//h/:_auth=', login, '\n'],
    ['Token', 'PROXY-AUTHORIZATION: BASIC ', login, '\n'],
    ['Token', '{\\"authorization\\": \\"bearer ', hash('b', 'hex').slice(0, 40), '\\"}'],
    ['Token', 'https://h/?sv=1&sig=', signed, '&se=1'],
    ['Token', 'https://h/?sig=', signed, ' '],
    ['Token', '"https://h/?sv=1\\u0026sig=', signed, '"'],
    ['Token', 'https://h/?a=1&amp;X-Amz-Signature=', hash('z', 'hex').slice(0, 64), '"'],
    ['Token', '', `sk-or-v1-${hash('o', 'hex').slice(0, 64)}`, '\n'],
    ['Token', '"a\\n', `ghp_${word('h', 36)}`, '\\n"'],
    ['CloudKey', '"a\\t', ['AKIA', 'ABCDEFGH23456777'].join(''), '"'],
    ['CloudKey', '\u001B[01;31m\u001B[K', ['AKIA', 'ABCDEFGH23456777'].join(''), '\u001B[m'],
    ['PrivateKey', 'client-key-data: ', encoded, '\n'],
    ['Assigned', 'aws_session_token = ', base64(900), '\n'],
    ['Assigned', '  password: ', Buffer.from(`R4${word('w', 14)}9`).toString('base64'), '\n'],
  ])('takes out a %s behind %s', (kind, before, secret, after) => {
    expect(redact(`${before}${secret}${after}`)).toEqual({ text: `${before}[REDACTED:${kind}]${after}`, counts: { [kind]: 1 } });
  });

  it.each([
    `sha256:${hash('x', 'hex').slice(0, 64)}`,
    hash('x', 'hex').slice(0, 40),
    `"integrity": "sha512-${hash('y')}=="`,
    ...['y', 'a1', 'a2', 'a3', 'a4', 'a5'].flatMap((seed) =>
      ['integrity": "', 'sha512": "', 'contentHash": "', 'integrity\\": \\"', 'sha512: '].map((name) => `"${name}${word(seed, 86)}=="`),
    ),
    `-----BEGIN CERTIFICATE-----\n${word('e', 64)}\r\n${word('f', 64)}\r\n${word('r', 50)}==\r\n-----END CERTIFICATE-----\r\n`,
    'tokenPattern: x1y2z3-a4b5c6d7, passwordFile: /run/s3cr3ts/db_pw_0a1b',
    '"tokenRegexp": "AKIA0-9A-Z16aB3", token_url=https://h/o4uth2/v1/t0ken',
    'secretKeyRef: db-v2-0a1b2c3d, tokenType: x5t-S256-v2-0a1b',
    'PWD=/srv/w0rk/a1b2c3d4 "pwd": "/home/agent2/w0rk/sp4ce" passwordless: v1.2.3-rc4-a1b2',
    'password = input1.value2.trim3() auth: Authorization2FactorAb Basic authentication login page password reset',
    'src/a.ts:1234:foo:bar: error TS2345 12:34:56:host:abc123def9 sig=hmacSha256OfTheBodyAndTheDate1',
    'sk-estimator-html-representation-container-id-1a2B',
    `golang.org/x/sys v0.1.0 h1:${word('z', 43)}=`,
    'const token = await options.token();',
    'password: process.env.DB_PASSWORD, secret: "correct horse"',
    'https://user:${TOKEN}@host https://host:8080/a@b http://user:password@host',
    'AgentTaskControllerReconcilerFactoryProvider2 getHTTP2ServerConnectionPool1',
    '/usr/lib/node_modules/Aa1Bb2/Cc3Dd4/Ee5Ff6Gg7/index.js',
    '6f9619ff-8b86-d011-b42d-00c04fc964ff 01JABCDEFGHJKMNPQRSTVWXYZ0',
    'key = "value"; auth = require("./auth2"); pwd=/home/agent/workspace',
    '-----BEGIN CERTIFICATE-----',
    `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${word('k', 43)} me@host`,
    'tokenizer: Qwen2.5-Coder-7B-Instruct',
    'secretName: my-app-tls-v2-2024a',
    'docker build --token-file f2a7b9c1.d sleep --help curl -u $USER:$PASSWORD',
  ])('leaves %s as it is', (text) => {
    expect(redact(text)).toEqual({ text, counts: null });
  });

  it('takes out declared values in the forms in which they travel', () => {
    const value = 'correct horse/battery "staple" ü';
    const forms = [value, encodeURIComponent(value), JSON.stringify(value), Buffer.from(value).toString('base64')];
    const { text, counts } = redact(forms.join('\n'), [value]);
    expect(text.split('\n')).toEqual([
      '[REDACTED:Declared]',
      '[REDACTED:Declared]',
      '"[REDACTED:Declared]"',
      expect.stringMatching(/^\[REDACTED:Declared\]=*$/) as string,
    ]);
    expect(counts).toEqual({ Declared: 4 });
    const one = new Redaction(() => undefined);
    one.secrets.replace([{ name: 'a', value }]);
    expect(
      one
        .open()
        .bytes(Buffer.from(`x ${value} ÿ`))
        .toString(),
    ).toBe('x [REDACTED:Declared] ÿ');
    one.secrets.replace([]);
    expect(one.open().text(value)).toBe(value);
  });

  it('is the same wherever the text is cut', () => {
    const declared = ['correct horse battery staple', `abab${'ab'.repeat(6)}ac`];
    const pieces = [
      ...secrets.map(([, secret]) => secret),
      key('RSA '),
      ...lines.map((line, n) => `${n + 9}: "${line}",\n`),
      ...lines.map((line, n) => `{"log":"${line}\\r\\n","n":${n + 9}}\r\n`),
      lines.join(' '),
      ...declared,
      ' --password ',
      'curl -u me:',
      '<password>',
      'password = ',
      `P4${word('q', 12)}55`,
      ' ',
      '\n',
      'ab',
      'correct horse',
      'x',
      `\n${word('e', 64)}\n`,
      `${word('r', 50)}==\r\n`,
      'Authorization:\n Bearer ',
      'machine h login me password ',
      '"sha512": "',
      '-----BEGIN',
      ' PRIVATE KEY-----',
      'ü',
      '\u0000',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), fc.array(fc.nat(400), { maxLength: 20 }), (parts, cuts) => {
        const redaction = new Redaction(() => undefined);
        redaction.secrets.replace(declared.map((value, n) => ({ name: `s${n}`, value })));
        const bytes = Buffer.from(parts.join('')).toString('latin1');
        const whole = redaction.open().redactor();
        const expected = whole.push(bytes) + whole.finish();
        const split = redaction.open().redactor();
        let [out, at] = ['', 0];
        for (const cut of cuts) {
          out += split.push(bytes.slice(at, at + cut));
          at += cut;
        }
        out += split.push(bytes.slice(at)) + split.finish();
        expect(out).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('catches a secret whose bytes come one by one, and lets go of what can be none', () => {
    const redactor = new Redaction(() => undefined).open().redactor();
    const token = `ghp_${word('h', 36)}`;
    let out = '';
    for (const char of `a ${token} b`) out += redactor.push(char);
    expect(out).toBe('a [REDACTED:Token] ');
    expect(redactor.push('\nContinue? [y/N]')).toBe('b\nContinue? ');
    expect(redactor.settle()).toBe('[y/N]');
    expect(redactor.push(' ghp_12')).toBe(' ');
    expect(redactor.settle()).toBe('');
    expect(redactor.push(`\n${token.slice(0, 5)}`)).toBe('ghp_12\n');
    // What was let go too early is lost, the rest of it is not.
    expect(redactor.settle()).toBe(token.slice(0, 5));
    expect(redactor.push(token.slice(5)) + redactor.finish()).toBe('[REDACTED:Token]');
  });

  it('looks at a word that grows byte by byte once', () => {
    const redactor = new Redaction(() => undefined).open().redactor();
    let out = '';
    for (let n = 0; n < 200_000; n++) out += redactor.push('x');
    expect((out + redactor.finish()).length).toBe(200_000);
  });

  it('takes no longer for lines behind a header that are like none of a key', () => {
    const mean = ['1 '.repeat(80), `${' '.repeat(60)}"`, '\t'.repeat(100)].flatMap((before) =>
      ['1'.repeat(4000), ' '.repeat(4000), `${'1 '.repeat(2000)}x`, 'A'.repeat(4000)].map(
        (line) => `${before}-----BEGIN PRIVATE KEY-----\n${line}\nend\n`,
      ),
    );
    for (const text of mean) for (let n = 0; n < 20; n++) expect(redact(text).text.endsWith('\nend\n'), text).toBe(true);
  });

  it('holds little, whatever comes', () => {
    const redactor = new Redaction(() => undefined).open().redactor();
    for (let n = 0; n < 100; n++) {
      redactor.push('x'.repeat(10_000));
      expect(redactor.held).toBeLessThan(32 * 1024);
    }
    const inKey = new Redaction(() => undefined).open().redactor();
    inKey.push('-----BEGIN PRIVATE KEY-----\n');
    for (let n = 0; n < 100; n++) inKey.push('A'.repeat(1000));
    expect(inKey.held).toBeLessThan(32 * 1024);
  });
});
