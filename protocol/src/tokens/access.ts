import { isIP } from 'node:net';
import type { Read } from '../environment.ts';
import { accessEnvironment, keysFile } from './names.ts';

/** By which tokens a server lets in. */
export interface AccessConfig {
  readonly issuer: string;
  readonly jwksFile: string;
  /** Who may ask it to work, and the audience of their tokens; null for a server that nobody asks. */
  readonly callers: { readonly audience: string; readonly subjects: readonly string[] } | null;
  /** Who may read metrics, with tokens of `metricsAudience`. */
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

/** Where a server listens that authenticates nobody. */
export const loopback = '127.0.0.1';

/** Whether only processes of the same machine or pod reach an address. */
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
 * How a server that listens on `host` authenticates; null: it does not, as nobody reaches it from elsewhere. Without an
 * explicit `None` it needs what tokens are checked by.
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
