/** Longest ClientHello that is looked at, bytes. */
export const maxHelloBytes = 64 * 1024;

/** What the first bytes of a connection say; `More`: not decided yet. */
export type Hello =
  | { readonly kind: 'More' }
  | { readonly kind: 'NotTLS' }
  /** `serverName` null: the client names none. */
  | { readonly kind: 'TLS'; readonly serverName: string | null };

const more: Hello = { kind: 'More' };
const notTLS: Hello = { kind: 'NotTLS' };

/**
 * Reads the server name out of a TLS ClientHello (RFC 8446, 4.1.2; RFC 6066, 3), which may be spread over records. Nothing
 * is decrypted and nothing is changed.
 */
export function readHello(bytes: Buffer): Hello {
  const parts: Buffer[] = [];
  let have = 0;
  for (let at = 0; ;) {
    const record = bytes.subarray(at);
    if (record.length > 0 && record[0] !== 22) return notTLS;
    if (record.length > 1 && record[1] !== 3) return notTLS;
    if (record.length < 5) return bytes.length > maxHelloBytes ? notTLS : more;
    const length = record.readUInt16BE(3);
    if (length === 0 || length > 16_640) return notTLS;
    const body = record.subarray(5, 5 + length);
    parts.push(body);
    have += body.length;
    const handshake = Buffer.concat(parts);
    if (have > 0 && handshake[0] !== 1) return notTLS;
    const whole = have < 4 ? Infinity : 4 + handshake.readUIntBE(1, 3);
    if (whole !== Infinity && whole > maxHelloBytes) return notTLS;
    if (have >= whole) return nameIn(handshake.subarray(4, whole));
    if (body.length < length) return more;
    at += 5 + length;
  }
}

/** A reader that refuses to go past its end. */
class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  number(size: 1 | 2): number {
    return this.take(size).readUIntBE(0, size);
  }

  take(length: number): Buffer {
    if (length > this.left) throw new RangeError('the ClientHello ends early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

function nameIn(hello: Buffer): Hello {
  try {
    const body = new Cursor(hello);
    body.take(2 + 32); // version and random
    body.take(body.number(1)); // session
    body.take(body.number(2)); // cipher suites
    body.take(body.number(1)); // compression
    if (body.left === 0) return { kind: 'TLS', serverName: null };
    const extensions = new Cursor(body.take(body.number(2)));
    while (extensions.left > 0) {
      const type = extensions.number(2);
      const content = extensions.take(extensions.number(2));
      if (type === 0) return { kind: 'TLS', serverName: hostIn(new Cursor(content)) };
    }
    return { kind: 'TLS', serverName: null };
  } catch (error) {
    if (error instanceof RangeError) return notTLS;
    throw error;
  }
}

function hostIn(extension: Cursor): string | null {
  const list = new Cursor(extension.take(extension.number(2)));
  while (list.left > 0) {
    const type = list.number(1);
    const name = list.take(list.number(2));
    if (type === 0) return name.toString('latin1');
  }
  return null;
}
