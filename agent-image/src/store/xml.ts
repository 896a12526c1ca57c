// agent-image, store: XML answers of S3 and of its token service. May import base, protocol, kube and the keeper's client.
import { fieldsOf, listOf, type Fields } from '@agentfleet/protocol/text';
import { XMLParser } from 'fast-xml-parser';
import { StoreFailure, type StoredEntry, type StoreFailureCode } from './store.ts';

/** One page of a listing. */
export interface Page {
  readonly entries: readonly StoredEntry[];
  readonly next?: string;
}

/** The elements of a text; none where it is no XML. */
function parse(text: string): Fields {
  const parser = new XMLParser({
    ignoreAttributes: true,
    parseTagValue: false,
    trimValues: false,
    processEntities: false, // decoded below: the parser bounds their number, and knows no character references
    isArray: (name) => name === 'Contents',
  });
  try {
    return fieldsOf(parser.parse(text));
  } catch {
    return {};
  }
}

const named: Readonly<Record<string, string>> = { amp: '&', apos: "'", gt: '>', lt: '<', quot: '"' };

/** Text with XML's five entities and its character references, by which servers in Go write quotes. */
function decode(text: string): string {
  return text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|apos|gt|lt|quot));/gi, (whole, hex, decimal, name) => {
    if (typeof name === 'string') return named[name.toLowerCase()] ?? whole;
    const code = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Parses the error in the body of an answer; a body that is not XML of S3 (a proxy's page, empty) has no code. */
function readError(text: string) {
  const error = fieldsOf(parse(text)['Error']);
  return { code: word(error['Code']), message: word(error['Message']) };
}

function word(value: unknown): string {
  return typeof value === 'string' ? decode(value).trim() : '';
}

/** Reads an answer of ListObjectsV2. @throws StoreFailure `Refused` when it is none */
export function readPage(text: string, where: string): Page {
  const listed = parse(text)['ListBucketResult'];
  // An element without children is read as text.
  if (typeof listed !== 'string' && (typeof listed !== 'object' || listed === null))
    throw new StoreFailure('Refused', `${where} answered a listing with what is no ListBucketResult`);
  const { Contents: contents, IsTruncated: truncated, NextContinuationToken: next } = fieldsOf(listed);
  const entries = listOf(contents).map(fieldsOf).flatMap(entryOf);
  if (word(truncated) !== 'true') return { entries };
  if (typeof next === 'string') return { entries, next: decode(next) };
  throw new StoreFailure('Refused', `${where} says that there are more keys, and not where`);
}

/** A missing value is 0: then the key is old and small. */
function entryOf({ Key: key, Size: size, LastModified: modified, ETag: tag }: Fields): StoredEntry[] {
  if (typeof key !== 'string') return [];
  const [bytes, modifiedAt] = [Number(word(size)), Date.parse(word(modified))];
  const etag = word(tag).replaceAll('"', '');
  return [
    {
      key: decode(key),
      bytes: Number.isFinite(bytes) ? bytes : 0,
      modifiedAt: Number.isFinite(modifiedAt) ? modifiedAt : 0,
      ...(etag === '' ? {} : { etag }),
    },
  ];
}

/** Keys that a cloud lends to the account of a pod. */
export interface Session {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

/** The keys in an answer of AssumeRoleWithWebIdentity; undefined: it is none. */
export function readSession(text: string): Session | undefined {
  const result = fieldsOf(fieldsOf(parse(text)['AssumeRoleWithWebIdentityResponse'])['AssumeRoleWithWebIdentityResult']);
  const keys = fieldsOf(result['Credentials']);
  const [accessKeyId, secretAccessKey, sessionToken] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map((name) => word(keys[name]));
  const expiresAt = Date.parse(word(keys['Expiration']));
  if (!accessKeyId || !secretAccessKey || !sessionToken || Number.isNaN(expiresAt)) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken, expiresAt };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number;
}

const byCode: Readonly<Record<string, StoreFailureCode>> = {
  AccessDenied: 'Denied',
  AllAccessDisabled: 'Denied',
  BadDigest: 'Corrupt',
  EntityTooLarge: 'TooLarge',
  ExpiredToken: 'Credential',
  IncompleteBody: 'Unavailable',
  InternalError: 'Unavailable',
  InvalidAccessKeyId: 'Credential',
  InvalidToken: 'Credential',
  KeyTooLongError: 'InvalidKey',
  NoSuchBucket: 'NoBucket',
  NoSuchKey: 'NotFound',
  PreconditionFailed: 'Changed',
  QuotaExceeded: 'Full',
  RequestTimeout: 'Unavailable',
  ServiceUnavailable: 'Unavailable',
  SignatureDoesNotMatch: 'Credential',
  SlowDown: 'Unavailable',
  XAdminUserNotFound: 'Credential', // versitygw's word for an unknown access key
  XAmzContentSHA256Mismatch: 'Corrupt',
};

/** For answers without a code of S3. 404 is not among them: it may come from a proxy that knows no bucket at all. */
const byStatus: Readonly<Record<number, StoreFailureCode>> = {
  401: 'Credential',
  403: 'Denied',
  408: 'Unavailable',
  412: 'Changed',
  413: 'TooLarge',
  429: 'Unavailable',
  507: 'Full',
};

const cures: Readonly<Record<string, string>> = {
  PermanentRedirect: 'correct spec.storage.endpoint: the bucket is somewhere else',
  TemporaryRedirect: 'correct spec.storage.endpoint: the bucket is somewhere else',
  AuthorizationHeaderMalformed: 'correct spec.storage.region',
  RequestTimeTooSkewed: 'correct the clock of the node or of the store',
};

/** Returns the failure for an answer, with S3's own message. `secret` is removed from it; `what` names the request. */
export function refusalOf(what: string, answer: Answer, secret: string | undefined) {
  const { code, message } = readError(answer.body);
  const kind = byCode[code] ?? byStatus[answer.status] ?? (answer.status >= 500 ? 'Unavailable' : 'Refused');
  const said = [code, message].filter((words) => words !== '').join(': ');
  const words = secret === undefined ? said : said.replaceAll(secret, '…');
  const detail = words === '' ? '' : `, ${words.slice(0, 500)}`;
  const cure = cures[code];
  const failure = new StoreFailure(kind, `${what}: status ${answer.status}${detail}`, cure === undefined ? {} : { cure });
  // Corrupt on the way in: the server saw other bytes than we signed; another try may get through.
  return { failure, retryMs: kind === 'Unavailable' || kind === 'Corrupt' ? answer.retryAfterMs : undefined };
}
