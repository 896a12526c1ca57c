// sandbox-image/keeper, snapshot/objects: sparse writes that leave out blocks of zeros. May import the rest of snapshot, and protocol.
import fs from 'node:fs';

/** Smallest allocation unit of file systems. */
const BLOCK = 4096;
const ZEROS = Buffer.alloc(1024 * 1024);

/** True when these bytes (at most 1 MiB) are all zero. */
export function isZero(bytes: Buffer): boolean {
  return bytes.equals(ZEROS.subarray(0, bytes.length));
}

/** Writes a piece at its place in a file, leaving out its blocks of zeros: where nothing was written, a file is zero. */
export function writeSparse(fd: number, piece: Buffer, position: number): void {
  for (let from = 0; from < piece.length;) {
    const hole = isZero(piece.subarray(from, from + BLOCK));
    let to = from + BLOCK;
    while (to < piece.length && isZero(piece.subarray(to, to + BLOCK)) === hole) to += BLOCK;
    const end = Math.min(to, piece.length);
    for (let done = hole ? end : from; done < end;) done += fs.writeSync(fd, piece, done, end - done, position + done);
    from = end;
  }
}
