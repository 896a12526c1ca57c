// agent-image, src: TLS authorities of the administrator, joined to those of Node. May import every folder; no folder imports it.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';

/** Authorities that the administrator added, joined to the usual ones. */
export interface Authorities {
  readonly pem: string;
  /** The same as a file, for programs. */
  readonly file: string;
}

/**
 * Returns a function that joins the certificates of an optional file to those that Node trusts, because a client with its own
 * list of authorities trusts no others. It reads the file at each call: a ConfigMap may come, or change, while the worker runs.
 * Undefined while the file is missing or empty.
 */
export function joinedAuthorities(file: string, scratch: string): () => Authorities | undefined {
  let read = '';
  let joined: Authorities | undefined;
  return () => {
    const added = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
    if (added !== read) joined = added === '' ? undefined : written(added, scratch);
    read = added;
    return joined;
  };
}

function written(added: string, scratch: string): Authorities {
  const pem = `${[...rootCertificates, added].join('\n')}\n`;
  const file = join(scratch, 'authorities.pem');
  // A git that runs sees the old file or the new one, never a part.
  writeFileSync(`${file}.new`, pem, { mode: 0o644 });
  renameSync(`${file}.new`, file);
  return { pem, file };
}
