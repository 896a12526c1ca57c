import { readFile } from 'node:fs/promises';
import { AttemptFailure } from '../attempt/failure.ts';
import { createSealer, keyBytes, type Sealer } from './seal.ts';

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
  const key = parseKey(text);
  if (key === null) throw unusable(`is not the base64 of ${keyBytes} bytes`);
  return createSealer(key);
}

/** The key that a Secret's value says; null when it is none. */
export function parseKey(text: string): Buffer | null {
  const trimmed = text.trim();
  const key = Buffer.from(trimmed, 'base64');
  return key.length === keyBytes && key.toString('base64') === trimmed ? key : null;
}

function unusable(why: string): AttemptFailure {
  const cure = 'correct the Secret of that credential: `head -c 32 /dev/urandom | base64`';
  return new AttemptFailure('Infrastructure', 'EncryptionKeyInvalid', `the key that ${field} of the pool names ${why}; ${cure}`);
}
