import { crc32 } from 'node:zlib';

/**
 * Header of one object in a segment: magic (4), length (8, big-endian), SHA-256 of the payload
 * (32), CRC-32 of the bytes before it (4); the payload follows. The payload needs no checksum of
 * its own: its hash is its name.
 */
export const HEADER_BYTES = 48;

const MAGIC = 0x41_46_4f_31; // "AFO1"
const CRC_AT = 44;

export interface RecordHeader {
  /** 32 chars, one per byte. */
  readonly hash: string;
  /** Payload bytes. */
  readonly length: number;
}

export function writeHeader(target: Buffer, at: number, { hash, length }: RecordHeader): void {
  target.writeUInt32BE(MAGIC, at);
  target.writeUInt16BE(0, at + 4);
  target.writeUIntBE(length, at + 6, 6);
  target.write(hash, at + 12, 32, 'latin1');
  target.writeUInt32BE(crc32(target.subarray(at, at + CRC_AT)), at + CRC_AT);
}

/** The header at `at`, or null when those bytes are no header. */
export function readHeader(source: Buffer, at: number): RecordHeader | null {
  if (source.length < at + HEADER_BYTES || source.readUInt32BE(at) !== MAGIC) return null;
  if (source.readUInt32BE(at + CRC_AT) !== crc32(source.subarray(at, at + CRC_AT))) return null;
  return { length: source.readUIntBE(at + 6, 6), hash: source.toString('latin1', at + 12, at + CRC_AT) };
}
