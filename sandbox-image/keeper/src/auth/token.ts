import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../clock.ts';
import { KeeperError } from '../failure.ts';

/** What the metrics count refusals by. */
export type RefusalReason = 'missing' | 'malformed' | 'expired' | 'notYetValid' | 'audience' | 'issuer' | 'key' | 'signature' | 'subject';

export interface TokenRules {
  readonly issuer: string;
  /** The uid of this pod: a token for another sandbox is worth nothing here. */
  readonly audience: string;
  /** ServiceAccounts that may call, as `system:serviceaccount:<namespace>:<name>`. */
  readonly subjects: readonly string[];
  readonly getKey: JWTVerifyGetKey;
  readonly clock: Clock;
  readonly onRefused?: (reason: RefusalReason) => void;
}

/** Seconds that two clocks of a cluster may differ. */
const clockToleranceSeconds = 5;

interface Refusal {
  readonly reason: RefusalReason;
  readonly why: string;
}

/**
 * Checks an `Authorization` header offline. Only RS256 and ES256, the algorithms of Kubernetes'
 * own tokens, are accepted, whatever the token says of itself.
 *
 * @returns the caller's subject
 * @throws KeeperError `AF_UNAUTHENTICATED`, or `AF_FORBIDDEN` for a valid token of somebody else
 */
export async function authenticate(header: string | undefined, rules: TokenRules): Promise<string> {
  const refuse = (refusal: Refusal): KeeperError => {
    rules.onRefused?.(refusal.reason);
    return new KeeperError(refusal.reason === 'subject' ? 'AF_FORBIDDEN' : 'AF_UNAUTHENTICATED', `token refused: ${refusal.why}`);
  };
  if (header === undefined) throw refuse({ reason: 'missing', why: 'the request has no Authorization header' });
  const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(header)?.[1];
  if (token === undefined) throw refuse({ reason: 'malformed', why: 'the Authorization header is not "Bearer <token>"' });
  let payload: JWTPayload;
  try {
    payload = await verify(token, rules);
  } catch (error) {
    throw refuse(explain(error, rules));
  }
  const subject = payload.sub ?? '';
  if (!rules.subjects.includes(subject)) throw refuse({ reason: 'subject', why: `${quote(subject)} is not bound to this sandbox` });
  return subject;
}

async function verify(token: string, rules: TokenRules): Promise<JWTPayload> {
  const { payload } = await jwtVerify(token, rules.getKey, {
    algorithms: ['RS256', 'ES256'],
    issuer: rules.issuer,
    audience: rules.audience,
    clockTolerance: clockToleranceSeconds,
    currentDate: new Date(rules.clock.now()),
    requiredClaims: ['exp', 'sub'],
  });
  return payload;
}

/** Why jose refused, in words and as a metric label. */
function explain(error: unknown, rules: TokenRules): Refusal {
  if (error instanceof errors.JWTExpired) return { reason: 'expired', why: `it expired at ${instant(error.payload.exp)}` };
  if (error instanceof errors.JWTClaimValidationFailed) return explainClaim(error, rules);
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return { reason: 'key', why: 'no key of this cluster signed it (unknown key)' };
  }
  if (error instanceof errors.JWKSInvalid) return { reason: 'key', why: error.message };
  if (error instanceof errors.JOSEAlgNotAllowed) return { reason: 'malformed', why: 'its algorithm is neither RS256 nor ES256' };
  if (error instanceof errors.JWSSignatureVerificationFailed) return { reason: 'signature', why: 'its signature is wrong' };
  return { reason: 'malformed', why: 'it is not a JSON Web Token' };
}

function explainClaim(error: errors.JWTClaimValidationFailed, rules: TokenRules): Refusal {
  const { payload } = error;
  if (error.claim === 'aud')
    return { reason: 'audience', why: `wrong audience (has ${quote(payload.aud)}, needs ${quote(rules.audience)})` };
  if (error.claim === 'iss') return { reason: 'issuer', why: `wrong issuer (has ${quote(payload.iss)}, needs ${quote(rules.issuer)})` };
  if (error.claim === 'nbf') return { reason: 'notYetValid', why: `it is not valid before ${instant(payload.nbf)}` };
  return { reason: 'malformed', why: `its claim ${quote(error.claim)} is missing or wrong` };
}

function instant(seconds: number | undefined): string {
  const date = new Date((seconds ?? Number.NaN) * 1000);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : date.toISOString();
}

function quote(value: unknown): string {
  return (JSON.stringify(value) ?? 'none').slice(0, 200);
}
