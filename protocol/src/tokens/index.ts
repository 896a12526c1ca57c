/** Kubernetes ServiceAccount tokens between the parts: who carries which, and how a server checks one offline. May import `environment`. */
import { isIP } from 'node:net';
import type { Read } from '../environment.ts';
import { type JWTVerifyGetKey, errors, jwtVerify, type JWTPayload, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { readFile, stat } from 'node:fs/promises';

/** Audience of the tokens that experts and verifiers of a namespace take from those who ask them to work. */
export function expertsAudience(namespace: string): string {
  return `agentfleet-experts:${namespace}`;
}

/**
 * Audience of the tokens that open /metrics and what a server reports of itself, in all namespaces. A scraper sends it to each
 * pod that is labelled like one of ours: alone it is no secret, and NetworkPolicies stand before it.
 */
export const metricsAudience = 'agentfleet-metrics';

/** Audience of the tokens that open /metrics of the operator, which are sent nowhere else. */
export const operatorMetricsAudience = 'agentfleet-operator-metrics';

/** Subject of the tokens of a ServiceAccount; the name `*` stands for all of the namespace. */
export function serviceAccountSubject(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Environment of a server that authenticates its callers, set by the operator. */
export const accessEnvironment = {
  /** `Tokens` (default), or `None` for a server that listens on a loopback address only. */
  authentication: 'AGENTFLEET_AUTHENTICATION',
  issuer: 'AGENTFLEET_ISSUER',
  /** File with the signing keys of the cluster. */
  jwks: 'AGENTFLEET_JWKS',
  /** Audience of tokens of callers. */
  audience: 'AGENTFLEET_AUDIENCE',
  /** Subjects that may ask it to work, separated by commas. */
  callers: 'AGENTFLEET_CALLERS',
  /** Subjects that may read its metrics, separated by commas. */
  metricsReaders: 'AGENTFLEET_METRICS_READERS',
} as const;

/** Environment of a process that calls such servers: the file with its token. */
export const tokenFileVariable = 'AGENTFLEET_TOKEN_FILE';

/** Folder of the signing keys in a pod, and the file in it. */
export const keysDir = '/etc/agentfleet/jwks';
export const keysFile = `${keysDir}/jwks.json`;

/** Folder of the token of a caller in its pod, and the file in it. */
export const tokenDir = '/var/run/agentfleet/token';
export const tokenFile = `${tokenDir}/token`;

/** By which tokens a server lets in. */
export interface AccessConfig {
  readonly issuer: string;
  readonly jwksFile: string;
  /** Subjects that may ask it to work, and the audience of their tokens; null for a server without callers. */
  readonly callers: { readonly audience: string; readonly subjects: readonly string[] } | null;
  /** Subjects that may read metrics, with tokens of `metricsAudience`. */
  readonly metricsReaders: readonly string[];
}

const subjectPattern = /^system:serviceaccount:[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?:([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?|\*)$/;

/** A list of subjects. @throws Error for what is none */
export function parseSubjects(value: string): readonly string[] {
  const subjects = value.split(',').map((one) => one.trim());
  const wrong = subjects.find((one) => !subjectPattern.test(one));
  if (wrong !== undefined) throw new Error(`"${wrong}" is no subject of a ServiceAccount; write system:serviceaccount:NAMESPACE:NAME`);
  return subjects;
}

/** Address on which a server listens without authentication. */
export const loopback = '127.0.0.1';

/** Reports whether only processes of the same machine or pod reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function parseMode(host: string): (value: string) => 'Tokens' | 'None' {
  return (value) => {
    if (value !== 'Tokens' && value !== 'None') throw new Error(`"${value}" is neither Tokens nor None`);
    if (value === 'None' && !isLoopback(host)) {
      throw new Error(`None is for a server on a loopback address, and this one listens on ${host}; listen on 127.0.0.1, or use Tokens`);
    }
    return value;
  };
}

/**
 * Reads how a server that listens on `host` authenticates; null: it does not, as it cannot be reached from elsewhere. Without an
 * explicit `None` it needs the data by which tokens are checked.
 *
 * @param isAsked whether it works for callers, or has metrics only
 */
export function readAccess(read: Read, host: string, isAsked: boolean): AccessConfig | null {
  const { authentication, issuer, jwks, audience, callers, metricsReaders } = accessEnvironment;
  if (read(authentication, parseMode(host), 'Tokens') === 'None') return null;
  return {
    issuer: read(issuer, String),
    jwksFile: read(jwks, String, keysFile),
    callers: isAsked ? { audience: read(audience, String), subjects: read(callers, parseSubjects) } : null,
    metricsReaders: read<readonly string[]>(metricsReaders, parseSubjects, []),
  };
}

/** Gives the value of an `Authorization` header; undefined: the request goes without one. Never rejects. */
export type Bearer = () => Promise<string | undefined>;

/** The token in a projected volume, which the kubelet renews. */
export function bearerFromFile(file: string, clock: WallClock, onError: (error: unknown) => void): Bearer {
  const token = new ChangingFile(file, tokenOf, clock, onError);
  return async () => {
    const text = await token.current();
    return text === undefined ? undefined : `Bearer ${text}`;
  };
}

function tokenOf(text: string): string {
  const token = text.trim();
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw new Error('the token file holds no token');
  return token;
}

/** Kind of a request: Read is metrics and what a server reports of itself, Work anything else. */
export type AccessKind = 'Read' | 'Work';

/** Lets in by the `Authorization` header. @throws TokenRefused */
export type Gate = (header: string | undefined, kind: AccessKind) => Promise<void>;

/** A gate for a server without authentication. */
export const openGate: Gate = () => Promise.resolve();

export interface GateOptions {
  readonly config: Pick<AccessConfig, 'issuer' | 'callers' | 'metricsReaders'>;
  /** Audience of the tokens of metrics readers; default `metricsAudience`. */
  readonly metricsAudience?: string;
  readonly getKey: JWTVerifyGetKey;
  readonly clock: WallClock;
  readonly onRefused?: (reason: RefusalReason) => void;
}

/** A gate that checks tokens. Who may ask a server to work may also read what it reports. */
export function tokenGate({ config, getKey, clock, onRefused = () => undefined, metricsAudience: own }: GateOptions): Gate {
  const { issuer, callers, metricsReaders } = config;
  const asReader = { issuer, audience: own ?? metricsAudience, subjects: metricsReaders, getKey, clock };
  const asCaller = callers === null ? null : { issuer, ...callers, getKey, clock };
  const check = async (header: string | undefined, kind: AccessKind): Promise<void> => {
    try {
      if (kind === 'Read') return void (await checkToken(header, asReader));
    } catch (error) {
      if (asCaller === null || !(error instanceof TokenRefused) || error.reason !== 'audience') throw error;
    }
    if (asCaller === null) throw new TokenRefused('subject', 'nobody asks this server to work');
    await checkToken(header, asCaller);
  };
  return async (header, kind) => {
    try {
      await check(header, kind);
    } catch (error) {
      if (error instanceof TokenRefused) onRefused(error.reason);
      throw error;
    }
  };
}

/** The gate of a server by its configuration; `onError` gets why the key file cannot be read. */
export function gateOf(
  config: AccessConfig | null,
  options: Pick<GateOptions, 'clock' | 'onRefused'> & { readonly onError: (error: unknown) => void },
): Gate {
  if (config === null) return openGate;
  const { onError, ...rest } = options;
  return tokenGate({ config, getKey: new JwksFile(config.jwksFile, options.clock, onError).getKey, ...rest });
}

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
