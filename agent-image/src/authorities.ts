// agent-image, src: TLS authorities of the administrator, joined to those of Node. May import every folder; no folder imports it.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';

/** Authorities that the administrator added, joined to the usual ones. */
export interface Authorities {
  readonly pem: string;
  /** The same as a file, for programs. */
  readonly file: string;
}

/**
 * Joins the certificates of an optional file to those that Node trusts, because a client with its own list of
 * authorities trusts no others. Undefined when the file is missing or empty.
 */
export async function joinAuthorities(file: string, scratch: string): Promise<Authorities | undefined> {
  const added = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (added.trim() === '') return undefined;
  const pem = `${[...rootCertificates, added.trim()].join('\n')}\n`;
  const joined = join(scratch, 'authorities.pem');
  await writeFile(joined, pem, { mode: 0o644 });
  return { pem, file: joined };
}
