// hack, start: build, settings and API calls of Gitea. May import any package.
import { chmod, cp, mkdir, mkdtemp, rename, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';

const module = 'code.gitea.io/gitea';
const version = 'v1.25.2';

export interface BuiltGitea {
  /** Holds both. */
  readonly folder: string;
  readonly program: string;
  /** Templates and options, which the program reads from its sources. */
  readonly sources: string;
}

/** Builds Gitea from its Go module, in a copy: it has replace lines, so that `go install` refuses it. Minutes, then a cache. */
export async function buildGitea(): Promise<BuiltGitea> {
  const cache = process.env['AGENTFLEET_CACHE'] ?? join(homedir(), '.cache', 'agentfleet');
  const folder = join(cache, `gitea-${version}`);
  const built = { folder, program: join(folder, 'gitea'), sources: join(folder, 'sources') };
  if ((await stat(built.program).catch(() => undefined)) !== undefined) return built;
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'gitea-building-'));
  const { stdout } = await execa('go', ['mod', 'download', '-json', `${module}@${version}`]);
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
  await cp(Dir, join(scratch, 'sources'), { recursive: true });
  await execa('chmod', ['-R', 'u+w', join(scratch, 'sources')]);
  const tags = 'sqlite sqlite_unlock_notify';
  await execa('go', ['build', '-tags', tags, '-o', join(scratch, 'gitea'), '.'], {
    cwd: join(scratch, 'sources'),
    env: { CGO_ENABLED: '1' },
  });
  await chmod(join(scratch, 'gitea'), 0o755);
  await chmod(scratch, 0o755);
  await rename(scratch, folder);
  return built;
}

interface GiteaPlace {
  /** Address that it is reached at, by which it also calls itself. */
  readonly host: string;
  readonly port: number;
  /** Folder of its data. */
  readonly data: string;
  readonly certificate: string;
  readonly key: string;
  readonly sources: string;
  /** User of its process. */
  readonly user: string;
}

/** Its settings: sqlite, TLS, no mail and no SSH. Pure. */
export function giteaSettings({ host, port, data, certificate, key, sources, user }: GiteaPlace): string {
  const sections: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>> = {
    '': { APP_NAME: 'A local forge', RUN_USER: user, I_AM_BEING_UNSAFE_RUNNING_AS_ROOT: true, WORK_PATH: data },
    server: {
      PROTOCOL: 'https',
      HTTP_ADDR: host,
      HTTP_PORT: port,
      ROOT_URL: `https://${host}:${port}/`,
      CERT_FILE: certificate,
      KEY_FILE: key,
      STATIC_ROOT_PATH: sources,
      OFFLINE_MODE: true,
      DISABLE_SSH: true,
    },
    database: { DB_TYPE: 'sqlite3', PATH: join(data, 'gitea.db') },
    security: { INSTALL_LOCK: true, SECRET_KEY: 'of-a-local-forge-alone' },
    repository: { ROOT: join(data, 'repositories') },
    log: { MODE: 'console', LEVEL: 'Error' },
    actions: { ENABLED: false },
  };
  const lines = Object.entries(sections).flatMap(([name, values]) => [
    ...(name === '' ? [] : [`[${name}]`]),
    ...Object.entries(values).map(([key_, value]) => `${key_} = ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

/** Rights of the token: to push and to open pull requests, and to make the repository. */
export const giteaScopes = 'write:repository,write:issue,write:user';

/** Base64 of files, as its API takes them for the first commit of a repository. Pure. */
export function filesOfCommit(files: Readonly<Record<string, string>>): readonly object[] {
  return Object.entries(files).map(([path, text]) => ({ operation: 'create', path, content: Buffer.from(text).toString('base64') }));
}

/** A request to the API, which is trusted by its own certificate. Rejects with curl's words. */
export async function askGitea<T = unknown>(
  at: { readonly origin: string; readonly authorities: string; readonly token: string },
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const args = ['--silent', '--show-error', '--fail-with-body', '--cacert', at.authorities, '-X', method];
  const data = body === undefined ? [] : ['-H', 'Content-Type: application/json', '-d', JSON.stringify(body)];
  const { stdout } = await execa('curl', [...args, '-H', `Authorization: token ${at.token}`, ...data, `${at.origin}/api/v1${path}`]);
  return (stdout === '' ? undefined : JSON.parse(stdout)) as T;
}
