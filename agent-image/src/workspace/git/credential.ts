import { isForRepository, type Reason } from '@agentfleet/protocol/api';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../../base/failure.ts';
import type { GitCredential, GitSource } from './settings.ts';

/** User name for servers that only check a token. */
const anyUser = 'git';

interface Asked extends Pick<GitSource, 'url'> {
  readonly credential?: string | undefined;
  readonly field?: string;
  /** Address of the repository, where `url` is that of its API. */
  readonly repository?: string;
}

/**
 * Returns the credential for a repository; undefined when the task names none. The file holds a user name, a
 * colon and a password, or a token alone.
 *
 * @throws AttemptFailure when the pool has no such credential, or not for this host or repository, or not over https
 */
export async function credentialFor(
  { credential: name, url, field = 'spec.workspace.git.credential', repository = url }: Asked,
  credentials: PoolBrief['credentials'],
): Promise<GitCredential | undefined> {
  if (name === undefined) return undefined;
  const { protocol, hostname } = new URL(url);
  const refuse = (reason: Reason, message: string): AttemptFailure => new AttemptFailure('InvalidInput', reason, message);
  if (protocol !== 'https:') throw refuse('CredentialNotForHost', `credential ${name} is sent over https only; use the https address`);
  const found = credentials.find((one) => one.name === name);
  if (found === undefined) throw refuse('CredentialNotFound', `the pool has no credential ${name}; correct ${field}`);
  if (!found.hosts.some((host) => host.toLowerCase() === hostname.toLowerCase())) {
    throw refuse(
      'CredentialNotForHost',
      `credential ${name} of the pool is not for ${hostname}; it is for ${found.hosts.join(', ')}; add the host to spec.credentials[].hosts of the pool`,
    );
  }
  if (!isForRepository(found, repository))
    throw refuse(
      'CredentialNotForRepository',
      `credential ${name} of the pool is for ${found.repositories?.join(', ') ?? ''} only; add the repository to spec.credentials[].repositories of the pool`,
    );
  const isBound = found.repositories !== undefined;
  const text = await readFile(found.file, 'utf8').catch((error: unknown) => {
    const message = `the value of credential ${name} is not there; check its Secret`;
    throw new AttemptFailure('Infrastructure', 'CredentialUnreadable', message, { cause: error });
  });
  const value = text.replace(/\r?\n$/, '');
  const colon = value.indexOf(':');
  const [username, password] = colon < 0 ? [anyUser, value] : [value.slice(0, colon), value.slice(colon + 1)];
  return { username, password, isBound };
}

/**
 * Writes a file for `git credential-store`: one line for the repository's host and port, readable by the worker alone.
 * Git asks it again for every host of a redirect, and finds nothing there for others.
 */
export async function writeStore(url: string, folder: string, { username, password }: GitCredential): Promise<string> {
  const { host } = new URL(url);
  const file = join(folder, 'credentials');
  const line = `https://${encodeURIComponent(username)}:${encodeURIComponent(password)}@${host.replaceAll(':', '%3a')}`;
  await writeFile(file, `${line}\n`, { mode: 0o600, flag: 'wx' });
  return file;
}
