// protocol, tokens: offline check of ServiceAccount tokens, and key files that change. May import environment alone.
import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { readFile, stat } from 'node:fs/promises';

/** Wall time, ms since 1970. */
export interface WallClock {
  now(): number;
}

/** Reasons by which metrics count refusals. */
export type RefusalReason = 'missing' | 'malformed' | 'expired' | 'notYetValid' | 'audience' | 'issuer' | 'key' | 'signature' | 'subject';

/** A bearer token that is refused; `message` has the reason. */
export class TokenRefused extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.name = 'TokenRefused';
    this.reason = reason;
  }

  /** 403 for a valid token of another subject, 401 for anything that is no valid token. */
  get status(): 401 | 403 {
    return this.reason === 'subject' ? 403 : 401;
  }
}

export interface TokenRules {
  readonly issuer: string;
  readonly audience: string;
  /** ServiceAccounts that may call, as `system:serviceaccount:<namespace>:<name>`; the name `*` stands for all of a namespace. */
  readonly subjects: readonly string[];
  readonly getKey: JWTVerifyGetKey;
  readonly clock: WallClock;
}

/** Seconds that two clocks of a cluster may differ. */
const clockToleranceSeconds = 5;

/**
 * Checks an `Authorization` header offline. Only RS256 and ES256, the algorithms of Kubernetes' own tokens, are accepted,
 * whatever the token declares.
 *
 * @returns the caller's subject
 * @throws TokenRefused
 */
export async function checkToken(header: string | undefined, rules: TokenRules): Promise<string> {
  if (header === undefined) throw new TokenRefused('missing', 'the request has no Authorization header');
  const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(header)?.[1];
  if (token === undefined) throw new TokenRefused('malformed', 'the Authorization header is not "Bearer <token>"');
  let payload: JWTPayload;
  try {
    payload = await verify(token, rules);
  } catch (error) {
    throw explain(error, rules);
  }
  const subject = payload.sub ?? '';
  if (!rules.subjects.some((allowed) => covers(allowed, subject))) {
    throw new TokenRefused('subject', `${quote(subject)} may not call this server`);
  }
  return subject;
}

/** The name of a ServiceAccount has no colon, so what stands for all names of a namespace cannot reach another one. */
function covers(allowed: string, subject: string): boolean {
  if (!allowed.endsWith(':*')) return allowed === subject;
  const namespace = allowed.slice(0, -1);
  return subject.startsWith(namespace) && /^[^:]+$/.test(subject.slice(namespace.length));
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

/** Returns the reason that jose refused, in words and as a metric label. */
function explain(error: unknown, rules: TokenRules): TokenRefused {
  if (error instanceof errors.JWTExpired) return new TokenRefused('expired', `it expired at ${instant(error.payload.exp)}`);
  if (error instanceof errors.JWTClaimValidationFailed) return explainClaim(error, rules);
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return new TokenRefused('key', 'no key of this cluster signed it (unknown key)');
  }
  if (error instanceof errors.JWKSInvalid) return new TokenRefused('key', error.message);
  if (error instanceof errors.JOSEAlgNotAllowed) return new TokenRefused('malformed', 'its algorithm is neither RS256 nor ES256');
  if (error instanceof errors.JWSSignatureVerificationFailed) return new TokenRefused('signature', 'its signature is wrong');
  return new TokenRefused('malformed', 'it is not a JSON Web Token');
}

function explainClaim(error: errors.JWTClaimValidationFailed, rules: TokenRules): TokenRefused {
  const { payload } = error;
  if (error.claim === 'aud') {
    return new TokenRefused('audience', `wrong audience (has ${quote(payload.aud)}, needs ${quote(rules.audience)})`);
  }
  if (error.claim === 'iss') {
    return new TokenRefused('issuer', `wrong issuer (has ${quote(payload.iss)}, needs ${quote(rules.issuer)})`);
  }
  if (error.claim === 'nbf') return new TokenRefused('notYetValid', `it is not valid before ${instant(payload.nbf)}`);
  return new TokenRefused('malformed', `its claim ${quote(error.claim)} is missing or wrong`);
}

function instant(seconds: number | undefined): string {
  const date = new Date((seconds ?? Number.NaN) * 1000);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : date.toISOString();
}

function quote(value: unknown): string {
  return (JSON.stringify(value) ?? 'none').slice(0, 200);
}

const checkEveryMs = 2000;

/**
 * A mounted file that the kubelet replaces now and then. It is looked at again at most every 2 s; when it cannot be read or
 * parsed, what was read last stays in force.
 */
export class ChangingFile<T> {
  readonly #file: string;
  readonly #parse: (text: string) => T;
  readonly #clock: WallClock;
  readonly #onError: (error: unknown) => void;
  #loaded: { readonly value: T; readonly stamp: string } | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | null = null;

  /** `parse` throws for a text that is of no use. */
  constructor(file: string, parse: (text: string) => T, clock: WallClock, onError: (error: unknown) => void) {
    this.#file = file;
    this.#parse = parse;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Returns the present content; undefined before it could be read for the first time. Never rejects. */
  async current(): Promise<T | undefined> {
    // The clock may have been set back.
    const fresh = this.#loaded !== undefined && Math.abs(this.#clock.now() - this.#checkedAt) < checkEveryMs;
    if (this.#checking !== null || !fresh) {
      this.#checking ??= this.#load().finally(() => {
        this.#checking = null;
        this.#checkedAt = this.#clock.now();
      });
      await this.#checking;
    }
    return this.#loaded?.value;
  }

  async #load(): Promise<void> {
    try {
      // Kubernetes swaps the whole mounted folder: another inode, whatever its time is.
      const { mtimeNs, ino, size } = await stat(this.#file, { bigint: true });
      const stamp = `${mtimeNs}:${ino}:${size}`;
      if (stamp === this.#loaded?.stamp) return;
      this.#loaded = { value: this.#parse(await readFile(this.#file, 'utf8')), stamp };
    } catch (error) {
      this.#onError(error);
    }
  }
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** The cluster's signing keys from a mounted file: a key that was rotated out stops working, a new one is found. */
export class JwksFile {
  readonly #file: ChangingFile<KeySet>;

  constructor(file: string, clock: WallClock, onError: (error: unknown) => void) {
    this.#file = new ChangingFile(file, keySetOf, clock, onError);
  }

  /** To be given to `jwtVerify`. */
  readonly getKey: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#file.current();
    if (keys === undefined) throw new errors.JWKSInvalid('the key file of the cluster is not readable yet');
    return await keys(header, token);
  };
}

/** Signing keys that the process itself reads from the API server. `jwks` gives their JSON, and throws before it is known. */
export function jwksInMemory(jwks: () => string): JWTVerifyGetKey {
  let known: { readonly text: string; readonly keys: KeySet } | undefined;
  return async (header, token) => {
    const text = jwks();
    if (known?.text !== text) known = { text, keys: keySetOf(text) };
    return await known.keys(header, token);
  };
}

/** Throws for a text that is no key set. */
function keySetOf(text: string): KeySet {
  return createLocalJWKSet(JSON.parse(text) as JSONWebKeySet);
}
