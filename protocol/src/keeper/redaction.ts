// protocol, keeper: kinds, markers and counts of secrets removed from answers. May import environment alone.
import { Type, type Static } from 'typebox';
import { closed } from '../object.ts';

/**
 * Kinds of secrets. `Declared`: a value that the worker named; `Assigned`: what a name such as `password` or `api_key` gets;
 * `HighEntropy`: a text that only a generator writes; the others by their public shape.
 */
export const redactionKinds = ['Declared', 'CloudKey', 'Token', 'PrivateKey', 'Jwt', 'UrlPassword', 'Assigned', 'HighEntropy'] as const;
export type RedactionKind = (typeof redactionKinds)[number];

/** Returns the text that replaces a secret of this kind. */
export function redactionMarker(kind: RedactionKind): string {
  return `[REDACTED:${kind}]`;
}

/** Number of secrets of each kind that were taken out; kinds without any are absent. */
export type RedactionCounts = Readonly<Partial<Record<RedactionKind, number>>>;

/** Form in which a caller gets data: texts without secrets, or the exact bytes, which is noted in the event log. */
export const Redaction = Type.Enum(['Redact', 'Raw'], { description: 'default Redact; Raw is noted in the event log' });
export type Redaction = Static<typeof Redaction>;

/** Header of answers that are bytes: kinds and counts of what was taken out, such as `Token=2,Jwt=1`. */
export const redactedHeader = 'agentfleet-redacted';

/** Bounds of declared secrets, in characters. Shorter values would blacken ordinary words. */
export const secretBounds = { count: 64, minChars: 8, maxChars: 4096 } as const;

/** Body of `PUT /v1/secrets`: the values that are taken out wherever they appear. They replace the ones before. */
export const SecretsRequest = closed({
  secrets: Type.Array(
    closed({
      name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$', description: 'for the event log' }),
      value: Type.String({ minLength: secretBounds.minChars, maxLength: secretBounds.maxChars, description: 'kept in memory only' }),
    }),
    { maxItems: secretBounds.count },
  ),
});
export type SecretsRequest = Static<typeof SecretsRequest>;

/** Answer of `PUT /v1/secrets`. */
export interface SecretsDeclared {
  readonly declared: number;
}
