import { readFile } from 'node:fs/promises';
import { AttemptFailure } from '../attempt/failure.ts';
import { createSealer, keyBytes, type Sealer } from './seal.ts';

/** Keys of a pool at once: the current one and those that are going. */
const maxKeys = 8;
const field = 'spec.storage.encryption.credential';

/** The sealer of a pool. Read each time, because a Secret that is mounted may change. @throws AttemptFailure when the key is none */
export async function readSealer(keyFile: string | undefined): Promise<Sealer> {
  if (keyFile === undefined) return createSealer(null);
  let text: string;
  try {
    text = await readFile(keyFile, 'utf8');
  } catch (error) {
    throw unusable(`cannot be read (${error instanceof Error ? error.message : String(error)})`);
  }
  const [key, ...earlier] = parseKeys(text) ?? [];
  if (key === undefined) throw unusable(`is not the base64 of ${keyBytes} bytes in each of 1 to ${maxKeys} lines`);
  return createSealer(key, earlier);
}

/** The keys that a Secret's value says, one a line: the first seals, the others read what they have sealed. Null when one is none. */
export function parseKeys(text: string): readonly Buffer[] | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const keys = lines.map(parseKey).filter((key) => key !== null);
  return keys.length === lines.length && keys.length > 0 && keys.length <= maxKeys ? keys : null;
}

function parseKey(text: string): Buffer | null {
  const trimmed = text.trim();
  const key = Buffer.from(trimmed, 'base64');
  return key.length === keyBytes && key.toString('base64') === trimmed ? key : null;
}

function unusable(why: string): AttemptFailure {
  const cure = 'correct the Secret of that credential: `head -c 32 /dev/urandom | base64`';
  return new AttemptFailure('Infrastructure', 'EncryptionKeyInvalid', `the key that ${field} of the pool names ${why}; ${cure}`);
}
