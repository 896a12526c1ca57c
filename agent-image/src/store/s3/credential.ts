import { readFile } from 'node:fs/promises';
import { StoreFailure } from '../failure.ts';

/** What requests are signed with. */
export interface Credential {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * Reads `id:secret` at each use, because the kubelet replaces the file when the Secret changes.
 * @throws StoreFailure `Credential`
 */
export async function readCredential(file: string): Promise<Credential> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new StoreFailure('Credential', `the credential in ${file} cannot be read`, { cause: error });
  });
  const [, accessKeyId, secretAccessKey] = /^([^:\s]+):(\S+)$/.exec(text.trim()) ?? [];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new StoreFailure('Credential', `${file} does not hold an access key id, a colon and a secret key`);
  }
  return { accessKeyId, secretAccessKey };
}
