// agent-image, durable: compression and encryption of stored blobs. May import store, base, protocol, kube and the keeper's client.
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { DurableFailure } from './failure.ts';

/** Bytes of a pool's key. */
export const keyBytes = 32;

/** Most that a blob may be unpacked to: a log or manifest of its largest size. */
const maxUnpackedBytes = 1024 * 1024 * 1024;
const magic = Buffer.from('AFD1');
const nonceBytes = 12;
const tagBytes = 16;
const digestBytes = 32;
const keyIdBytes = 8;
const [plain, encrypted] = [0, 1];
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Makes blobs that a store may hold, and reads them back. A blob is bound to the name that it is stored under. */
export interface Sealer {
  /** Returns the same name for the same content; with a key it reveals nothing about it. `kind` separates namespaces. */
  name(kind: string, content: Uint8Array): string;
  /** Distinguishes sealers with different keys; reveals nothing about a key. */
  readonly keyIds: readonly string[];
  isCurrent(blob: Buffer): boolean;
  seal(name: string, content: Uint8Array): Promise<Buffer>;
  /** @throws DurableFailure `Damaged`, `WrongKey` */
  open(name: string, blob: Buffer): Promise<Buffer>;
}

/**
 * Blobs are compressed (zstd) and, with a key, encrypted (AES-256-GCM, a random nonce each, the name as associated
 * data); without one a SHA-256 over name and content detects damage. Layout: magic, kind (1), with a key: its id (8),
 * nonce (12), content, tag (16); without: SHA-256 (32), content. `earlier` keys only open blobs that were sealed with
 * them.
 */
export function createSealer(key: Uint8Array | null, earlier: readonly Uint8Array[] = []): Sealer {
  return key === null ? new PlainSealer() : new KeySealer(new DerivedKey(key), earlier);
}

class PlainSealer implements Sealer {
  readonly keyIds: readonly string[] = [];

  isCurrent(): boolean {
    return true; // another kind is not opened at all
  }

  name(kind: string, content: Uint8Array): string {
    return createHash('sha256').update(`${kind}\0`).update(content).digest('hex');
  }

  async seal(name: string, content: Uint8Array): Promise<Buffer> {
    const packed = await pack(content);
    return Buffer.concat([magic, Buffer.of(plain), digestOf(name, packed), packed]);
  }

  async open(name: string, blob: Buffer): Promise<Buffer> {
    const kind = kindOf(name, blob);
    if (kind === encrypted) throw new DurableFailure('WrongKey', `${name} is encrypted, and the pool names no key`);
    const from = magic.length + 1;
    const [digest, packed] = [blob.subarray(from, from + digestBytes), blob.subarray(from + digestBytes)];
    if (digest.length < digestBytes || !timingSafeEqual(digest, digestOf(name, packed))) throw damaged(name);
    return unpack(name, packed);
  }
}

/** Keys derived from a key, one for each use. */
class DerivedKey {
  readonly contents: Buffer;
  readonly names: Buffer;
  readonly id: Buffer;

  constructor(key: Uint8Array) {
    const derived = (use: string): Buffer => Buffer.from(hkdfSync('sha256', key, '', `agentfleet.dev/durable/v1/${use}`, keyBytes));
    this.contents = derived('contents');
    this.names = derived('names');
    this.id = derived('id').subarray(0, keyIdBytes);
  }
}

class KeySealer implements Sealer {
  readonly #current: DerivedKey;
  readonly #known: ReadonlyMap<string, DerivedKey>;

  constructor(current: DerivedKey, earlier: readonly Uint8Array[]) {
    this.#current = current;
    const all = [current, ...earlier.map((key) => new DerivedKey(key))];
    this.#known = new Map(all.map((key) => [key.id.toString('hex'), key]));
  }

  get keyIds(): readonly string[] {
    return [...this.#known.keys()];
  }

  isCurrent(blob: Buffer): boolean {
    return keyIdOf(blob).equals(this.#current.id);
  }

  name(kind: string, content: Uint8Array): string {
    return createHmac('sha256', this.#current.names).update(`${kind}\0`).update(content).digest('hex');
  }

  async seal(name: string, content: Uint8Array): Promise<Buffer> {
    const packed = await pack(content);
    const nonce = randomBytes(nonceBytes);
    const head = Buffer.concat([magic, Buffer.of(encrypted), this.#current.id, nonce]);
    const cipher = createCipheriv('aes-256-gcm', this.#current.contents, nonce).setAAD(Buffer.concat([head, Buffer.from(name)]));
    return Buffer.concat([head, cipher.update(packed), cipher.final(), cipher.getAuthTag()]);
  }

  async open(name: string, blob: Buffer): Promise<Buffer> {
    // A blob that anyone could have written must not pass for a sealed one.
    if (kindOf(name, blob) === plain) throw new DurableFailure('WrongKey', `${name} is not encrypted, and the pool names a key`);
    const nonceAt = magic.length + 1 + keyIdBytes;
    const from = nonceAt + nonceBytes;
    if (blob.length < from + tagBytes) throw damaged(name);
    const key = this.#known.get(keyIdOf(blob).toString('hex'));
    if (key === undefined) throw new DurableFailure('WrongKey', `${name} was encrypted with a key that the pool does not list`);
    const decipher = createDecipheriv('aes-256-gcm', key.contents, blob.subarray(nonceAt, from), { authTagLength: tagBytes })
      .setAAD(Buffer.concat([blob.subarray(0, from), Buffer.from(name)]))
      .setAuthTag(blob.subarray(-tagBytes));
    let packed: Buffer;
    try {
      packed = Buffer.concat([decipher.update(blob.subarray(from, -tagBytes)), decipher.final()]);
    } catch (error) {
      throw damaged(name, error);
    }
    return unpack(name, packed);
  }
}

function pack(content: Uint8Array): Promise<Buffer> {
  return compress(content, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
}

async function unpack(name: string, packed: Buffer): Promise<Buffer> {
  try {
    return await decompress(packed, { maxOutputLength: maxUnpackedBytes });
  } catch (error) {
    throw damaged(name, error);
  }
}

function digestOf(name: string, packed: Buffer): Buffer {
  return createHash('sha256').update(`${name}\0`).update(packed).digest();
}

function keyIdOf(blob: Buffer): Buffer {
  return blob.subarray(magic.length + 1, magic.length + 1 + keyIdBytes);
}

function kindOf(name: string, blob: Buffer): number {
  const kind = blob[magic.length];
  if (!blob.subarray(0, magic.length).equals(magic) || (kind !== plain && kind !== encrypted)) throw damaged(name);
  return kind;
}

function damaged(name: string, cause?: unknown): DurableFailure {
  return new DurableFailure('Damaged', `${name} is not what was stored`, cause);
}
