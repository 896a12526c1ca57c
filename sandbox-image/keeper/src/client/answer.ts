import { pipeline, Transform, type Readable } from 'node:stream';
import { jsonBounds } from './bounds.ts';
import { KeeperRefusal } from './errors.ts';

/** The refusal of an answer that is longer than its route's may be. */
export function tooLarge(path: string, bytes: number): KeeperRefusal {
  return KeeperRefusal.ofAnswer('AF_ANSWER_TOO_LARGE', `the answer to ${path} has more than the ${bytes} bytes that it may have`);
}

/** Reads a body whole. @throws KeeperRefusal `AF_ANSWER_TOO_LARGE`, without reading on */
export async function readWhole(body: AsyncIterable<Uint8Array>, path: string, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of counted(body, path, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The body as it comes, until it is too long. @throws KeeperRefusal `AF_ANSWER_TOO_LARGE` */
export async function* counted(body: AsyncIterable<Uint8Array>, path: string, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(path, maxBytes);
    yield chunk;
  }
}

/** The same as a stream; who destroys it destroys the body. `onClose` is called once nothing more comes. */
export function limited(body: Readable, path: string, maxBytes: number, onClose: () => void): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(tooLarge(path, maxBytes));
      else done(null, chunk);
    },
  });
  // The error is that of the stream, for who reads it.
  return pipeline(body, limit, () => onClose());
}

/** The JSON value of a text. @throws KeeperRefusal `AF_ANSWER_MALFORMED` when it is none, or one of very many members or levels */
export function parseAnswer(text: string, what: string): unknown {
  if (!fits(text)) {
    const { depth, members } = jsonBounds;
    throw KeeperRefusal.ofAnswer('AF_ANSWER_MALFORMED', `${what} has more than ${depth} levels or ${members} members`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw KeeperRefusal.ofAnswer('AF_ANSWER_MALFORMED', `${what} is no JSON: ${text.slice(0, 100)}`);
  }
}

const codes = { quote: 0x22, backslash: 0x5c, comma: 0x2c } as const;
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Counts levels and members without making them. What is no JSON may pass: the parser refuses it. */
function fits(text: string): boolean {
  let [depth, members, inString] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) inString = !inString;
    else if (inString) at += code === codes.backslash ? 1 : 0;
    else if (closing.has(code)) depth -= 1;
    else if (code === codes.comma) members += 1;
    else if (opening.has(code)) {
      depth += 1;
      members += 1;
    }
    if (depth > jsonBounds.depth || members > jsonBounds.members) return false;
  }
  return true;
}
