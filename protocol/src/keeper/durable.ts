// protocol, keeper: format of contents that move between keeper and durable store. May import environment alone.
import { Type, type Static } from 'typebox';
import type { SnapshotRecord } from './snapshots.ts';
import { closed } from '../object.ts';
import { sha256 } from './schema.ts';

/**
 * Part of a content that moves between a keeper and a durable store: contents move in parts, each behind a header. A pack is
 * nothing but parts one after the other, so that one can be cut and joined anywhere between two of them.
 */
export interface Part {
  /** Hex SHA-256 of the whole content. */
  readonly sha256: string;
  /** Bytes of the whole content. */
  readonly size: number;
  /** Beginning of this part in the content; parts of one content follow one another. */
  readonly offset: number;
  readonly length: number;
}

/** Bytes of a part's header: SHA-256 (32), size, offset and length (8 each, big-endian). */
export const partHeaderBytes = 56;
/** Bytes of content in one part at most. */
export const maxPartBytes = 16 * 1024 * 1024;
/** Bytes of one request or answer with parts at most, headers included. */
export const maxPartsBytes = 24 * 1024 * 1024;
/** Parts of one request at most. */
export const maxParts = 32_768;
/** Bytes of an event log, and of one manifest, that is adopted. */
export const maxLogBytes = 1024 * 1024 * 1024;
export const maxManifestBytes = 1024 * 1024 * 1024;

/** The header of a part as it stands before its bytes. */
export function partHeader({ sha256, size, offset, length }: Part): Buffer {
  const header = Buffer.alloc(partHeaderBytes);
  header.write(sha256, 0, 'hex');
  for (const [at, value] of [size, offset, length].entries()) header.writeBigUInt64BE(BigInt(value), 32 + 8 * at);
  return header;
}

/** The parts of a buffer with views of their bytes. @throws Error when they do not fill it exactly */
export function* partsOf(buffer: Buffer): Generator<Part & { readonly bytes: Buffer }> {
  for (let at = 0; at < buffer.length;) {
    if (buffer.length - at < partHeaderBytes) throw new Error(`the parts end inside a header at byte ${at}`);
    const number = (from: number): number => Number(buffer.readBigUInt64BE(at + from));
    const part = { sha256: buffer.toString('hex', at, at + 32), size: number(32), offset: number(40), length: number(48) };
    const from = at + partHeaderBytes;
    const fits = part.length <= maxPartBytes && part.offset + part.length <= part.size && from + part.length <= buffer.length;
    if (!fits) throw new Error(`the part at byte ${at} does not fit`);
    yield { ...part, bytes: buffer.subarray(from, from + part.length) };
    at = from + part.length;
  }
}

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Body of `POST /v1/objects`: parts of contents that snapshots name. Whole contents are verified before they are sent. */
export const PartsRequest = closed({
  parts: Type.Array(closed({ sha256, size: count, offset: count, length: count }), {
    minItems: 1,
    maxItems: maxParts,
  }),
});
export type PartsRequest = Static<typeof PartsRequest>;

/**
 * Body of `POST /v1/adoption/commit`: what was sent is what the caller means. `snapshots` are oldest first; `head` is the
 * last record of the log.
 */
export const AdoptionRequest = closed({
  origin: Type.String({ maxLength: 1024, description: 'where it comes from, for the event log' }),
  head: closed({ seq: Type.Integer({ minimum: 1 }), hash: sha256 }),
  snapshots: Type.Array(Type.Unsafe<SnapshotRecord>(Type.Object({ id: Type.String({ pattern: '^s[0-9]{4,}$' }) })), { maxItems: 10_000 }),
});
export type AdoptionRequest = Static<typeof AdoptionRequest>;

/** Answer of `POST /v1/adoption/commit`. */
export interface Adopted {
  /** Records of the log that was taken over. */
  readonly records: number;
  readonly root: string;
  readonly snapshots: readonly string[];
}
