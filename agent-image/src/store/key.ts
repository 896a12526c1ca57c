import { StoreFailure } from './failure.ts';

/** Folder of unfinished files in a volume; no key begins with it, in no store. */
export const unfinishedFolder = '.agentfleet-unfinished';

/** S3 allows 1024 bytes, prefix of the pool included. */
const maxKeyBytes = 768;
/** What a file system allows for a name. */
const maxPartBytes = 255;
const controlCharacter = /\p{Cc}/u;

/** Refuses what not every store can hold or what could lead out of one. @throws StoreFailure `InvalidKey` */
export function assertKey(key: string): void {
  const why = faultOf(key);
  if (why !== null) throw new StoreFailure('InvalidKey', `key ${JSON.stringify(key.slice(0, 200))}: ${why}`);
}

function faultOf(key: string): string | null {
  if (controlCharacter.test(key)) return 'it contains a control character';
  if (!key.isWellFormed()) return 'it is no proper Unicode text';
  if (Buffer.byteLength(key) > maxKeyBytes) return `it is longer than ${maxKeyBytes} bytes`;
  const parts = key.split('/');
  if (parts.includes('')) return 'it is empty or has an empty part';
  if (parts.includes('.') || parts.includes('..')) return 'it has a part "." or ".."';
  if (parts[0] === unfinishedFolder) return 'the store keeps unfinished files there';
  return parts.some((part) => Buffer.byteLength(part) > maxPartBytes) ? `a part of it is longer than ${maxPartBytes} bytes` : null;
}
