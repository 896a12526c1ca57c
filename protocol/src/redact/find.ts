import type { RedactionKind, SecretsRequest } from '../keeper/index.ts';

/** Shannon entropy of a text's characters, in bits per character. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const minBits = 4.2;
/** Random base 62 changes between capitals, small letters and digits at 0.63 of its places, names that people write at far fewer. */
const minChanges = 0.42;

/**
 * Reports whether only a generator writes such a word: letters of both cases and digits mixed as no name is. Hexadecimal digests,
 * paths, identifiers and words are not; those of 32 to 100 characters are judged.
 */
function looksGenerated(word: string): boolean {
  const bare = word.replace(/=+$/, '');
  if (/[a-z]{7}|[A-Z]{7}|[_-]{2}|\/.*\/.*\//.test(bare)) return false;
  if (countOf(bare, /[a-z]/g) < 5 || countOf(bare, /[A-Z]/g) < 5 || countOf(bare, /\d/g) < 3) return false;
  return changes(bare) >= minChanges && entropyOf(bare) >= minBits;
}

/**
 * Reports whether a text that a name like `password` gets is a value and no piece of code: digits among letters, and no word of a program.
 */
function looksAssigned(value: string): boolean {
  const [digits, changed] = [countOf(value, /\d/g), changes(value)];
  // A value that alternates as base 64 does may have few digits, and with its padding none.
  const least = value.length < 16 || changed < 0.45 ? 2 : value.endsWith('=') ? 0 : 1;
  if (digits < least || countOf(value, /[A-Za-z]/g) < 4) return false;
  return changed >= 0.3 && entropyOf(value) >= 3.1 && (value.length > 100 || !/[a-z]{8}|[A-Z]{8}/.test(value));
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** Share of neighbours that are of different classes. */
function changes(text: string): number {
  let changed = 0;
  for (let at = 1; at < text.length; at++) if (classOf(text.charCodeAt(at)) !== classOf(text.charCodeAt(at - 1))) changed += 1;
  return changed / (text.length - 1);
}

function classOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return 0;
  if (code >= 0x41 && code <= 0x5a) return 1;
  if (code >= 0x61 && code <= 0x7a) return 2;
  return 3;
}

/** A public shape of secrets. Every repetition is bounded, so that the time grows with the text only. */
export interface Shape {
  readonly kind: RedactionKind;
  /** One of these stands in every text that matches: looked for first, as it is fast. */
  readonly needs: readonly string[];
  /** Global; the group `secret`, or else the whole match, is taken out. */
  readonly pattern: RegExp;
  /** Also: whether the text is no placeholder. */
  readonly isSecret?: (text: string) => boolean;
}

/** Beginning of a word: escapes of JSON, of URLs and of terminals end in a letter or digit without being a part of it. */
const before = '(?:(?<![A-Za-z0-9])|(?<=\\\\[bfnrt]|\\\\u00[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|\\x1B\\[[0-9;]{0,12}[A-Za-z]))';
const after = '(?![A-Za-z0-9])';
const shape = (kind: RedactionKind, needs: readonly string[], pattern: string, isSecret?: Shape['isSecret']): Shape => ({
  kind,
  needs,
  pattern: new RegExp(`${before}(?:${pattern})`, 'gd'),
  ...(isSecret === undefined ? {} : { isSecret }),
});

/** Words that stand where a password would in examples, and what a program puts one in. */
function isNoPlaceholder(text: string): boolean {
  return !/^[$%<{*[]|^(?:pass(?:word|wd)?|pwd|secret|token|user|x{2,16}|\.{2,16})$/i.test(text);
}

/** Reports whether a text is `user:password` in base 64. */
function isUserAndPassword(text: string): boolean {
  return /^[ -~]{1,512}:[ -~]{1,4096}$/.test(Buffer.from(text, 'base64').toString('latin1'));
}

/** Reports whether a text is a private key in base 64, as Secrets and kubeconfigs have it. */
function isEncodedKey(text: string): boolean {
  return Buffer.from(text.slice(0, 80), 'base64').toString('latin1').includes('PRIVATE KEY');
}

/** Reports whether letters and digits alternate as in no name, whatever joins them. */
function isMixed(text: string): boolean {
  return /\d/.test(text) && changes(text.replaceAll(/[_-]/g, '')) >= 0.3;
}

const url = '[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\\s:@/"\'<>`]{0,128}:(?<secret>[^\\s@/"\'<>`]{1,256})@(?=[A-Za-z0-9_[])';
const curlUser = 'curl\\s[^\\n|;&]{0,256}?(?<=\\s)(?:-u|--user)[ =]{0,2}["\']?[^\\s:"\']{1,128}:(?<secret>[^\\s"\']{1,256})';
const login =
  '(?:sshpass|(?:docker|podman|registry|oras|crane|skopeo) login)\\s[^\\n|;&]{0,128}?(?<=\\s)-p[ =]{0,2}["\']?(?<secret>[^\\s"\']{4,256})';
const gap = '[ \\t]{1,8}';
const netrc = `(?:machine${gap}\\S{1,128}|default)${gap}login${gap}\\S{1,128}${gap}(?:account${gap}\\S{1,128}${gap})?password${gap}(?<secret>\\S{1,256})`;
const pgpass = '(?<![^\\n])[A-Za-z0-9.*_-]{1,128}:(?:\\d{4,5}|\\*):[^\\s:]{1,63}:[^\\s:]{1,63}:(?<secret>[^\\s:]{10,128})(?!\\S)';
const assigned = '\\\\?["\']?\\s{0,3}[:=]\\s{0,3}\\[?\\\\?["\']?';
const authorization = `(?:[Aa]uthorization|AUTHORIZATION)${assigned}(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken|[Aa]pi[Kk]ey)\\s{1,3}(?<secret>[A-Za-z0-9._~+/=-]{16,4096})`;
const base64 = '(?<secret>[A-Za-z0-9+/]{6,4096}={0,2})(?![A-Za-z0-9+/=])';
const signature =
  '(?<=[?&;,] ?|\\\\u0026|%26)(?:sig|Signature|X-(?:Amz|Goog)-Signature)(?:=|%3D)(?<secret>[A-Za-z0-9%+/_~-]{24,1024}={0,2})';

const shapes: readonly Shape[] = [
  shape('CloudKey', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], `(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}${after}`),
  shape('CloudKey', ['AIza'], 'AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])'),
  shape('CloudKey', ['GOCSPX-'], 'GOCSPX-[A-Za-z0-9_-]{28}'),
  shape('CloudKey', ['AccountKey='], 'AccountKey=(?<secret>[A-Za-z0-9+/]{86}==)'),
  shape('CloudKey', ['_v1_'], `do[opr]_v1_[a-f0-9]{64}${after}`),
  shape('Token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], `gh[pousr]_[A-Za-z0-9]{36,255}${after}`),
  shape('Token', ['github_pat_'], `github_pat_[A-Za-z0-9_]{60,255}${after}`),
  shape(
    'Token',
    ['glpat-', 'gldt-', 'glrt-', 'glcbt-', 'glptt-', 'glft-', 'gloas-', 'glsoat-', 'glagent-'],
    'gl(?:pat|dt|rt|cbt|ptt|ft|oas|soat|agent)-[A-Za-z0-9_.-]{20,128}',
  ),
  shape('Token', ['xox'], 'xox[a-eposr]-[A-Za-z0-9%-]{10,255}'),
  shape('Token', ['/api/webhooks/'], 'discord(?:app)?\\.com/api/webhooks/\\d{10,20}/(?<secret>[A-Za-z0-9_-]{40,100})'),
  shape('Token', ['whsec_'], 'whsec_[A-Za-z0-9+/=]{24,128}'),
  shape('Token', ['xapp-'], 'xapp-\\d-[A-Za-z0-9-]{20,255}'),
  shape(
    'Token',
    ['hooks.slack.com/'],
    'hooks\\.slack\\.com/(?:services|triggers|workflows)/(?<secret>T[A-Za-z0-9_]{6,16}/[A-Za-z0-9_]{6,20}/[A-Za-z0-9_/]{16,64})',
  ),
  shape('Token', ['_live_', '_test_'], `[rs]k_(?:live|test)_[A-Za-z0-9]{16,128}${after}`),
  shape('Token', ['npm_'], `npm_[A-Za-z0-9]{36}${after}`),
  shape('Token', ['pypi-AgE'], 'pypi-AgE[A-Za-z0-9_-]{50,512}'),
  shape('Token', ['sk-'], 'sk-(?:ant-|proj-|svcacct-|or-|admin-)?[A-Za-z0-9_-]{32,255}', isMixed),
  shape('Token', ['rubygems_', 'glc_eyJ', 'sntrys_eyJ', 'ATATT3x'], '(?:rubygems_|glc_|sntrys_|ATATT3x)[A-Za-z0-9_=+/-]{40,512}'),
  shape('Token', ['PMAK-'], 'PMAK-[a-f0-9]{24}-[a-f0-9]{34}'),
  shape('Token', ['pul-'], `pul-[a-f0-9]{40}${after}`),
  shape('Token', ['hf_'], `hf_[A-Za-z0-9]{34}${after}`),
  shape('Token', ['SG.'], 'SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}'),
  shape('Token', ['ya29.'], 'ya29\\.[A-Za-z0-9_-]{20,512}'),
  shape('Token', ['hvs.', 'hvb.'], 'hv[sb]\\.[A-Za-z0-9_-]{24,255}'),
  shape('Token', ['dckr_pat_'], 'dckr_pat_[A-Za-z0-9_-]{27}'),
  shape('Token', ['AGE-SECRET-KEY-1'], 'AGE-SECRET-KEY-1[A-Z0-9]{58}'),
  shape('Token', ['dapi'], `dapi[a-f0-9]{32}${after}`),
  shape('Token', ['shpat_', 'shpca_', 'shppa_', 'shpss_'], `shp(?:at|ca|pa|ss)_[a-f0-9]{32}${after}`),
  shape('Token', [':AA'], '\\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])'),
  shape('Token', ['uthorization', 'UTHORIZATION'], authorization, isNoPlaceholder),
  shape('Token', ['asic ', 'ASIC '], `(?:[Bb]asic|BASIC) {1,3}${base64}`, isUserAndPassword),
  shape('Token', ['auth'], `auth${assigned}${base64}`, isUserAndPassword),
  shape('Token', ['sig=', 'sig%3D', 'ignature'], signature, isMixed),
  shape('PrivateKey', ['LS0tLS1CRUdJTi'], 'LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,12000}={0,2}', isEncodedKey),
  shape('Jwt', ['eyJ'], '(?<![_-])eyJ[A-Za-z0-9_-]{8,2048}\\.eyJ[A-Za-z0-9_-]{8,6144}\\.[A-Za-z0-9_-]{8,2048}'),
  shape('UrlPassword', ['://'], url, isNoPlaceholder),
  shape('UrlPassword', ['://'], '[a-zA-Z][a-zA-Z0-9+.-]{1,20}://(?<secret>[A-Za-z0-9_-]{32,256})@(?=[A-Za-z0-9[])', isMixed),
  shape('UrlPassword', ['@tcp(', '@unix('], '[A-Za-z0-9_.-]{1,64}:(?<secret>[^\\s@"\'`]{1,128})@(?:tcp|unix)\\(', isNoPlaceholder),
  shape('UrlPassword', ['curl'], curlUser, isNoPlaceholder),
  shape('UrlPassword', ['sshpass', ' login'], login, isNoPlaceholder),
  shape('UrlPassword', ['password'], netrc, isNoPlaceholder),
  shape('UrlPassword', [':'], pgpass, looksAssigned),
];

/** A secret in a text: what is taken out, from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly kind: RedactionKind;
}

/** In order and without overlaps; of two that overlap the first stays and grows. */
function merged(spans: readonly Span[]): readonly Span[] {
  const result: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1);
    if (last === undefined || span.start >= last.end) result.push(span);
    else if (span.end > last.end) result[result.length - 1] = { ...last, end: span.end };
  }
  return result;
}

const names =
  /pass(?:word(?!less)|wd|phrase)|pwd(?!["']?[:=][ \t]?["']?\/)|secret|token(?!i[sz])|api[_-]?key|access[_-]?key|account[_-]?key|auth[_-]?key|(?:private|signing|encryption|master)[_-]?key(?![_-]?id)|authorization|credential/gi;
const assignment = /[A-Za-z0-9_.-]{0,24}(?:\\?["'\]]){0,2}[ \t]{0,3}(?:=>|:=|[:=])[ \t]{0,3}(?:[bru]{0,2}\\?["'`])?/y;
/** Separators before the value of such a name, as an option of a command, a variable without a sign, or an element of XML. */
const [option, element] = [/[ \t]{1,8}["']?/y, /[A-Za-z0-9_.-]{0,24}>[ \t]{0,3}/y];
const value = /[A-Za-z0-9+/_=.~!@#%^&*-]*/y;
/** Endings of a name that is given no secret, but something about one. */
const about =
  /^[A-Za-z0-9_.-]{0,24}?(?:pattern|regexp?|name|ref|type|kind|path|file|dir|ur[il]|endpoint|version|format|prefix|ttl)s?(?![A-Za-z0-9_.-])/i;
/** So much of a value is judged. */
const judgedChars = 256;
/** Without the letter of an escape. */
const words = /(?<!\\)[A-Za-z0-9+/_-]{32,}={0,2}/g;
const longestWord = 100;

/**
 * The secrets of a text by their shapes, by what is assigned to names, and by entropy. Private keys, which have lines, and
 * declared values are found by {@link Redactor}. Time linear in the text.
 */
export function findSecrets(text: string, declared: readonly string[]): readonly Span[] {
  return merged([...declaredSpans(text, declared), ...shapeSpans(text), ...assignedSpans(text), ...generatedSpans(text)]);
}

function declaredSpans(text: string, declared: readonly string[]): readonly Span[] {
  const spans: Span[] = [];
  for (const value of declared) {
    for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + value.length))
      spans.push({ start: at, end: at + value.length, kind: 'Declared' });
  }
  return spans;
}

function shapeSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { kind, needs, pattern, isSecret } of shapes) {
    if (!needs.some((need) => text.includes(need))) continue;
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.groups?.['secret'] ?? match.indices?.[0] ?? [0, 0];
      if (isSecret?.(text.slice(start, end)) !== false) spans.push({ start, end, kind });
    }
  }
  return spans;
}

function assignedSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const name of text.matchAll(names)) {
    const before = text.slice(Math.max(0, name.index - 24), name.index);
    const bare = /(?<!\S)(?:--[a-z-]*|(?:ENV|setenv)[ \t]\w*)$/.test(before) || (/(?<!\S)$/.test(before) && /^pass/i.test(name[0]));
    const forms = [assignment, ...(bare ? [option] : []), ...(/<[A-Za-z0-9_.:-]*$/.test(before) ? [element] : [])];
    for (const form of forms) {
      form.lastIndex = name.index + name[0].length;
      if (!form.test(text) || about.test(text.slice(name.index + name[0].length, form.lastIndex))) continue;
      const start = form.lastIndex;
      // Values that contain names end where the first of them does.
      if (start >= end) end = endOfValue(text, start);
      if (end - start < 10 || text[end] === '(' || (form === element && !text.startsWith('</', end))) continue;
      if (looksAssigned(text.slice(start, Math.min(end, start + judgedChars)))) spans.push({ start, end, kind: 'Assigned' });
    }
  }
  return spans;
}

function endOfValue(text: string, start: number): number {
  value.lastIndex = start;
  value.test(text);
  return value.lastIndex;
}

function generatedSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { 0: word, index } of text.matchAll(words)) {
    if (word.length > longestWord || isDigest(text, word, index) || isWrapped(text, word, index)) continue;
    if (looksGenerated(word)) spans.push({ start: index, end: index + word.length, kind: 'HighEntropy' });
  }
  return spans;
}

const digestName = /(?:h1:|(?:sha[_-]?\d{1,3}|md5|integrity|checksum|digest|hash|etag)(?:\\?["'])?\s{0,3}[:=]\s{0,3}(?:\\?["'])?)$/i;

/** `sha512-…` of a lock file, what a name such as `integrity` gets, and public keys of ssh, which begin with the name of their kind. */
function isDigest(text: string, word: string, at: number): boolean {
  if (/^AAAA(?:[BC]3NzaC1|E2VjZHNh|GnNr|InNr)/.test(word)) return true;
  return /^sha\d{1,3}[-_]/i.test(word) || digestName.test(text.slice(Math.max(0, at - 32), at));
}

/** A line of encoded data that goes on, or its last line: certificates, attachments. */
function isWrapped(text: string, word: string, at: number): boolean {
  const alone = (char: string | undefined): boolean => char === undefined || char === '\n' || char === '\r';
  if (!alone(text[at - 1]) || !alone(text[at + word.length])) return false;
  return (
    word.length === 64 ||
    word.length === 76 ||
    /(?:^|\n)(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{76})\r?\n$/.test(text.slice(Math.max(0, at - 79), at))
  );
}

/** Values that the worker declared, in the forms in which they appear. In memory only: never logged, never written. */
export class DeclaredSecrets {
  #texts: readonly string[] = [];
  #bytes: readonly string[] = [];

  /** As they stand in texts. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  /** As they stand in bytes, read as latin1. */
  get bytes(): readonly string[] {
    return this.#bytes;
  }

  /** Takes the place of all that were declared before. */
  replace(secrets: SecretsRequest['secrets']): void {
    this.#texts = [...new Set(secrets.flatMap(({ value }) => formsOf(value)))].sort((a, b) => b.length - a.length);
    this.#bytes = this.#texts.map((text) => Buffer.from(text, 'utf8').toString('latin1'));
  }
}

/** Plain, in a URL, in JSON, in base 64. */
function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value, 'utf8');
  return [
    value,
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ];
}
