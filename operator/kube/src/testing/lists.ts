import type { Json } from './json.ts';
import { kindName, type KindDefinition } from './kinds.ts';
import { selectionOf } from './selection.ts';
import { badRequest, pageExpired, StatusError } from './status.ts';
import type { VersionedStore } from './versions.ts';

interface Token {
  readonly version: number;
  readonly after: string;
}

/** Answers LIST: newest, at an exact version, or the next page of an earlier one. */
export function listAnswer(store: VersionedStore, kind: KindDefinition, namespace: string | undefined, query: URLSearchParams): Json {
  const select = selectionOf(kind, namespace, query);
  const token = readToken(query.get('continue'));
  const limit = Number(query.get('limit') ?? 0);
  if (token !== undefined && token.version < store.compacted)
    throw pageExpired(token.version, tokenText({ ...token, version: store.version }));
  const version = token?.version ?? exactVersion(store, query);
  const objects = version === store.version ? store.current(kindName(kind)) : store.snapshot(kindName(kind), version);
  const keys = [...objects.keys()].sort();
  const items: unknown[] = [];
  let last: string | undefined;
  let more = false;
  for (const key of keys) {
    if (token !== undefined && key <= token.after) continue;
    const object = objects.get(key);
    if (object === undefined || !select(object)) continue;
    if (limit > 0 && items.length === limit) {
      more = true;
      break;
    }
    items.push(object);
    last = key;
  }
  const next = more && last !== undefined ? tokenText({ version, after: last }) : undefined;
  const metadata = { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) };
  return { kind: `${kind.resource.kind}List`, apiVersion: kind.resource.apiVersion, metadata, items };
}

const tokenText = (token: Token): string => Buffer.from(JSON.stringify(token)).toString('base64url');

function exactVersion(store: VersionedStore, query: URLSearchParams): number {
  const wanted = Number(query.get('resourceVersion') ?? 0);
  if (!Number.isInteger(wanted)) throw badRequest('invalid resource version');
  if (wanted > store.version) throw tooLarge(wanted, store.version);
  return query.get('resourceVersionMatch') === 'Exact' ? wanted : store.version;
}

/** Of a server that lags behind (apiserver storage.NewTooLargeResourceVersionError). */
export function tooLarge(wanted: number, current: number): StatusError {
  const message = `Too large resource version: ${wanted}, current: ${current}`;
  return new StatusError(504, 'Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

function readToken(text: string | null): Token | undefined {
  if (text === null || text === '') return undefined;
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as Token;
  } catch {
    throw badRequest('continue key is not valid');
  }
}
