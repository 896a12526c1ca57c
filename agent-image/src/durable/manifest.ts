import { createHash } from 'node:crypto';
import { maxPartBytes, partHeaderBytes, type Part } from '@agentfleet/protocol/keeper';

/** A content that a snapshot names. */
export interface Content {
  readonly sha256: string;
  readonly size: number;
}

/** Bytes of one pack with its headers, about; a larger content is spread over several. */
export const packBytes = maxPartBytes;

export function manifestDigest(text: Uint8Array): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** What the files of a manifest hold, each once, in the order of their paths. @throws Error on a line of another form */
export function contentsOf(text: Buffer): readonly Content[] {
  const found = new Map<string, Content>();
  for (const line of text.toString('latin1').split('\n')) {
    if (!line.startsWith('f ')) continue;
    const [, , size = '', sha256 = ''] = line.split(' ', 4);
    if (!/^[0-9a-f]{64}$/.test(sha256) || !/^\d{1,15}$/.test(size)) throw new Error(`not a line of a manifest: ${line.slice(0, 200)}`);
    if (!found.has(sha256)) found.set(sha256, { sha256, size: Number(size) });
  }
  return [...found.values()];
}

/** Spreads contents over packs, in their order: the same contents in the same order make the same packs. */
export function planPacks(contents: readonly Content[]): readonly (readonly Part[])[] {
  const packs: Part[][] = [];
  let open: Part[] = [];
  let bytes = 0;
  const close = (): void => {
    if (open.length > 0) packs.push(open);
    open = [];
    bytes = 0;
  };
  for (const { sha256, size } of contents) {
    for (let offset = 0; offset < size || offset === 0; offset += packBytes) {
      const length = Math.min(packBytes, size - offset);
      if (bytes + length + partHeaderBytes > packBytes + partHeaderBytes || open.length >= maxPartsOfPack) close();
      open.push({ sha256, size, offset, length });
      bytes += length + partHeaderBytes;
    }
  }
  close();
  return packs;
}

/** So that the request for a pack of many small files stays small. */
const maxPartsOfPack = 16_384;
