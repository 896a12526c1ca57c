// sandbox-image/keeper, link: frame format of the link to the runner. May import base, client, snapshot and protocol.

/** A frame of the link: a JSON object with a member `t`, and raw bytes. */
export interface Frame {
  readonly header: FrameHeader;
  readonly body: Buffer;
}

export type FrameHeader = Readonly<Record<string, unknown>> & { readonly t: string };

interface FrameLimits {
  readonly header: number;
  readonly body: number;
}

/** Limits of an authenticated link, in bytes. */
export const frameLimits: FrameLimits = { header: 1024 * 1024, body: 1024 * 1024 };
/** Limits before that: an unauthenticated peer gets no memory. */
export const handshakeLimits: FrameLimits = { header: 4096, body: 0 };

/** The other side broke the contract: the link must be closed. */
export class FrameError extends Error {}

const prefixBytes = 8;

/** @throws FrameError when the frame is over a limit */
export function encodeFrame(header: FrameHeader, body: Uint8Array = new Uint8Array(0)): Buffer {
  const text = Buffer.from(JSON.stringify(header), 'utf8');
  if (text.length > frameLimits.header) throw new FrameError(`the header has ${text.length} bytes, ${frameLimits.header} are allowed`);
  if (body.length > frameLimits.body) throw new FrameError(`the body has ${body.length} bytes, ${frameLimits.body} are allowed`);
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix.writeUInt32BE(text.length, 0);
  prefix.writeUInt32BE(body.length, 4);
  return Buffer.concat([prefix, text, body]);
}

/** Cuts a byte stream into frames, however it is chunked. Holds at most one incomplete frame. */
export class FrameParser {
  #limits: FrameLimits;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  set limits(limits: FrameLimits) {
    this.#limits = limits;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** The next whole frame, or null when more bytes are needed. @throws FrameError */
  next(): Frame | null {
    if (this.#bytes < prefixBytes) return null;
    const prefix = this.#peek(prefixBytes);
    const headerBytes = prefix.readUInt32BE(0);
    const bodyBytes = prefix.readUInt32BE(4);
    if (headerBytes > this.#limits.header) throw new FrameError(`a header of ${headerBytes} bytes is over the limit`);
    if (bodyBytes > this.#limits.body) throw new FrameError(`a body of ${bodyBytes} bytes is over the limit`);
    const total = prefixBytes + headerBytes + bodyBytes;
    if (this.#bytes < total) return null;
    const whole = this.#peek(total);
    this.#chunks = whole.length > total ? [whole.subarray(total), ...this.#chunks.slice(1)] : this.#chunks.slice(1);
    this.#bytes -= total;
    const header = parseHeader(whole.subarray(prefixBytes, prefixBytes + headerBytes));
    return { header, body: whole.subarray(prefixBytes + headerBytes, total) };
  }

  /** The first chunk, grown to at least `bytes`. */
  #peek(bytes: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= bytes) return first;
    let count = 0;
    let size = 0;
    while (size < bytes) size += this.#chunks[count++]?.length ?? Number.POSITIVE_INFINITY;
    const joined = Buffer.concat(this.#chunks.slice(0, count));
    this.#chunks = [joined, ...this.#chunks.slice(count)];
    return joined;
  }
}

function parseHeader(bytes: Buffer): FrameHeader {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new FrameError('a header is not JSON');
  }
  if (!isHeader(value)) throw new FrameError('a header is not an object with a member t');
  return value;
}

function isHeader(value: unknown): value is FrameHeader {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 't' in value && typeof value.t === 'string';
}
