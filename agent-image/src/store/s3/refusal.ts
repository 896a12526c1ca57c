import { StoreFailure, type StoreFailureCode } from '../failure.ts';
import { readError } from './xml.ts';

/** An answer that is no success. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number;
}

/** Why a try failed, and when to try again (undefined: not). */
export interface Refusal {
  readonly failure: StoreFailure;
  readonly retryMs: number | undefined;
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
  QuotaExceeded: 'Full',
  RequestTimeout: 'Unavailable',
  ServiceUnavailable: 'Unavailable',
  SignatureDoesNotMatch: 'Credential',
  SlowDown: 'Unavailable',
  XAdminUserNotFound: 'Credential', // versitygw's word for an unknown access key
  XAmzContentSHA256Mismatch: 'Corrupt',
};

/** Without a code of S3. 404 is not among them: it may come from a proxy that knows no bucket at all. */
const byStatus: Readonly<Record<number, StoreFailureCode>> = {
  401: 'Credential',
  403: 'Denied',
  408: 'Unavailable',
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

/**
 * The failure that an answer stands for, with S3's own words. `secret` is taken out of them, whatever the server
 * says; `what` names the request.
 */
export function refusalOf(what: string, answer: Answer, secret: string | undefined): Refusal {
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
