import { maxPartBytes, maxPartsBytes, partHeader, partHeaderBytes, type PartsRequest } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import type { Snapshots } from '../snapshots.ts';

/**
 * The named parts, each behind its header. A whole content is verified; of one that comes in several parts only the receiver
 * can tell. @throws KeeperError `AF_TOO_LARGE`, `AF_INVALID`; SnapshotError `AF_SNAPSHOT_OBJECT_CORRUPT`
 */
export async function exportParts({ parts }: PartsRequest, snapshots: Snapshots): Promise<Buffer> {
  const bytes = parts.reduce((sum, { length }) => sum + partHeaderBytes + length, 0);
  if (bytes > maxPartsBytes) throw new KeeperError('AF_TOO_LARGE', `parts: they are ${bytes} bytes, ${maxPartsBytes} are allowed`);
  const pieces: Buffer[] = [];
  for (const part of parts) {
    const { sha256, size, offset, length } = part;
    if (length > maxPartBytes || offset + length > size) throw new KeeperError('AF_INVALID', `parts: a part of ${sha256} does not fit`);
    const whole = offset === 0 && length === size;
    const content = whole ? await snapshots.readObject(sha256) : await snapshots.readRange(sha256, offset, length);
    if (content.length !== length) throw new KeeperError('AF_INVALID', `parts: ${sha256} has ${content.length} bytes`);
    pieces.push(partHeader(part), content);
  }
  return Buffer.concat(pieces);
}
