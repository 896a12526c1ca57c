import type { JWTVerifyGetKey } from 'jose';
import type { AccessConfig } from './access.ts';
import { checkToken, TokenRefused, type RefusalReason, type WallClock } from './check.ts';
import { JwksFile } from './keys.ts';
import { metricsAudience } from './names.ts';

/** What a request asks for: Read is metrics and what a server reports of itself, Work anything else. */
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
