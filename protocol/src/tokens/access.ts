import { isIP } from 'node:net';
import type { Read } from '../environment.ts';
import { ChangingFile, type WallClock, checkToken, TokenRefused, type RefusalReason, JwksFile } from './check.ts';
import type { JWTVerifyGetKey } from 'jose';

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

function text(value: string): string {
  return value;
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
    issuer: read(issuer, text),
    jwksFile: read(jwks, text, keysFile),
    callers: isAsked ? { audience: read(audience, text), subjects: read(callers, parseSubjects) } : null,
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
