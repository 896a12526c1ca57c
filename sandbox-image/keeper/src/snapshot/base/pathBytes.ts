// sandbox-image/keeper, snapshot/base: paths as raw bytes, their encoding and order. May import protocol alone.
import { isUtf8 } from 'node:buffer';

/**
 * A file name, path or link target as raw bytes: one char (U+0000…U+00FF) per byte, Node's latin1 encoding. POSIX names
 * are bytes; as UTF-16 text the invalid ones are lost. Two such strings compare with `<` exactly as their bytes do.
 */
export type BytePath = string;

const PRINTABLE = /^[ -~]*$/;
const PLAIN = /^[!-$&-~]*$/;
const PLAIN_OR_SPACE = /^[ -$&-~]*$/;

/** Returns the argument for a system call: text when the bytes are plain ASCII (much cheaper), else the bytes. */
export function sysPath(path: BytePath): string | Buffer {
  return PRINTABLE.test(path) ? path : Buffer.from(path, 'latin1');
}

/** The bytes of ordinary (UTF-16) text, such as a configured root directory. */
export function bytesOf(text: string): BytePath {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Bytes of one UTF-8 sequence by its first byte; 0 when the byte cannot start one. */
function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

function escapeBytes(path: BytePath, space: string): BytePath {
  const bytes = Buffer.from(path, 'latin1');
  let out = '';
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    const length = sequenceLength(byte);
    const valid = length > 1 && at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length));
    if (byte === 0x20) out += space;
    else if (valid) out += path.slice(at, at + length);
    else if (byte > 0x20 && byte < 0x7f && byte !== 0x25) out += path.charAt(at);
    else out += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    at += valid ? length : 1;
  }
  return out;
}

/**
 * The form used in manifests: no space, no control byte, valid UTF-8; every other byte and `%`
 * itself as `%XX`. Undone by `decodePath`. The result is bytes, too.
 */
export function encodePath(path: BytePath): BytePath {
  return PLAIN.test(path) ? path : escapeBytes(path, '%20');
}

/** Ordinary text for people and JSON; the same escapes, but a space stays a space. Reversible. */
export function displayPath(path: BytePath): string {
  if (PLAIN_OR_SPACE.test(path)) return path;
  return Buffer.from(escapeBytes(path, ' '), 'latin1').toString('utf8');
}

/** The directory part of a manifest path, `''` at a root's own level (`workspace/a` → `workspace`). */
export function parentOf(path: BytePath): BytePath {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

export function byBytes(a: BytePath, b: BytePath): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
