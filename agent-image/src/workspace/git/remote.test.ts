import { access, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AttemptFailure } from '../../base/failure.ts';
import { importWorkspace, type Imported, type WorkspacePorts } from '../import.ts';
import { importPlace, type FolderKeeper } from '../testing/folderKeeper.ts';
import { dialerTo, startGitServer, type GitServer, type Intercept } from '../testing/gitServer.ts';
import { TestRepository } from '../testing/repository.ts';

const secret = 'correct-horse';
/** Time for processes to start and end on a busy machine. */
const retryWhileUnavailable = { timeout: 30_000 };
const basic = `Basic ${Buffer.from(`robot:${secret}`).toString('base64')}`;

const answers: Record<string, readonly [number, Readonly<Record<string, string>>]> = {
  '/private': [401, { 'www-authenticate': 'Basic realm="git"' }],
  '/forbidden': [403, {}],
  '/busy': [503, {}],
  '/throttled': [429, {}],
  '/page': [200, { 'content-type': 'text/html' }],
  '/to-http': [302, { location: 'http://127.0.0.1:9/team/app/info/refs?service=git-upload-pack' }],
  '/to-file': [302, { location: 'file:///etc/passwd' }],
  '/to-ext': [302, { location: 'ext::sh -c touch% /tmp/owned' }],
};

const intercept: Intercept = (request, response) => {
  const url = request.url ?? '';
  if (url.startsWith('/silent/')) return true; // never answered
  const prefix = Object.keys(answers).find((name) => url.startsWith(`${name}/`));
  const [status, headers] = answers[prefix ?? ''] ?? [0, {}];
  if (status === 0 || request.headers.authorization === basic) {
    request.url = url.replace('/private/', '/team/');
    return false;
  }
  response.writeHead(status, headers).end('<!doctype html>\n<title>Sign in</title>\n');
  return true;
};

let dir: string;
let server: GitServer;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'git-remote-'));
  const repository = await TestRepository.create(join(dir, 'root', 'team', 'app'));
  await repository.write('README', 'hello\n');
  await repository.commit('one');
  server = await startGitServer(dir, join(dir, 'root'), intercept);
});

afterAll(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

async function start(
  url: string,
  change: Partial<WorkspacePorts> = {},
  credential?: string,
): Promise<{ imported: Imported; keeper: FolderKeeper }> {
  const place = await mkdtemp(join(dir, 'import-'));
  const dialer = dialerTo(server.origin, new URL(url).origin);
  const ports = await importPlace(place, { authorities: server.authorities, dialer, ...change });
  try {
    return {
      imported: await importWorkspace({ type: 'Git', git: { url, ref: 'main', ...(credential !== undefined && { credential }) } }, ports),
      keeper: ports.keeper,
    };
  } finally {
    expect(await readdir(ports.scratch)).toEqual([]);
  }
}

async function failureOf(url: string, change: Partial<WorkspacePorts> = {}, credential?: string): Promise<AttemptFailure> {
  const error: unknown = await start(url, change, credential).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AttemptFailure)) throw new Error(`no AttemptFailure: ${String(error)}`);
  return error;
}

describe('why a repository cannot be had', () => {
  test.each([
    ['/team/nothing', 'InvalidInput', 'RepositoryNotFound', 'not found'],
    ['/private/app', 'InvalidInput', 'AuthenticationRequired', 'could not read Username'],
    ['/forbidden/app', 'InvalidInput', 'AccessDenied', '403'],
    ['/busy/app', 'Infrastructure', 'RemoteUnavailable', '503'],
    ['/throttled/app', 'Infrastructure', 'RemoteUnavailable', '429'],
    ['/page/app', 'InvalidInput', 'NotARepository', 'is this a git repository'],
    ['/to-http/app', 'InvalidInput', 'RedirectRefused', 'http'],
    ['/to-file/app', 'InvalidInput', 'RedirectRefused', 'file'],
    ['/to-ext/app', 'InvalidInput', 'RedirectRefused', 'ext'],
  ])('%s: %s %s', async (path, failureClass, reason, words) => {
    const failure = await failureOf(`${server.origin}${path}`);
    expect(failure).toMatchObject({ failureClass, reason });
    expect(failure.message).toContain(`${server.origin}${path}`);
    expect(failure.message).toContain(words);
  });

  test('an authority unknown to the worker', async () => {
    const { authorities: _, ...rest } = { authorities: '' };
    const other = await mkdtemp(join(dir, 'other-'));
    const stranger = await startGitServer(other, join(dir, 'root'));
    const failure = await failureOf(`${stranger.origin}/team/app/.git`, rest);
    await stranger.close();
    expect(failure).toMatchObject({ failureClass: 'Infrastructure', reason: 'TLSFailed' });
    expect(failure.message).toContain('ConfigMap agentfleet-ca');
  });

  test('a port without a listener, and an unknown name', async () => {
    const port = await freePort();
    expect(await failureOf(`https://127.0.0.1:${port}/a/b`)).toMatchObject({
      failureClass: 'Infrastructure',
      reason: 'RemoteUnreachable',
    });
    const nobody = await failureOf('https://nobody.invalid/a/b', { dialer: dialerTo('https://nobody.invalid:443') });
    expect(nobody).toMatchObject({ failureClass: 'Infrastructure', reason: 'HostNotResolved' });
  });

  test('a server that never answers: git is ended when the time is over', async () => {
    const failure = await failureOf(`${server.origin}/silent/app`, { timeoutMs: 300 });
    expect(failure).toMatchObject({ failureClass: 'Infrastructure', reason: 'GitTimeout' });
  });
});

test('an abort ends git and the programs it started, and reports its reason', async () => {
  const stop = new AbortController();
  const before = server.requests.length;
  const place = start(`${server.origin}/silent/abort`, { signal: stop.signal });
  await expect.poll(() => server.requests.slice(before).some((line) => line.includes('/silent/abort')), retryWhileUnavailable).toBe(true);
  expect(await processesWith('/silent/abort')).not.toEqual([]);
  stop.abort('Stop');
  await expect(place).rejects.toBe('Stop');
  await expect.poll(() => processesWith('/silent/abort'), retryWhileUnavailable).toEqual([]);
});

test('git has no other connection than our proxy, which ends with the import', async () => {
  const stop = new AbortController();
  const place = start(`${server.origin}/silent/proxy`, { signal: stop.signal });
  const ended = expect(place).rejects.toBe('Stop');
  await expect.poll(() => processesWith('/silent/proxy'), retryWhileUnavailable).not.toEqual([]);
  const lines = await processesWith('/silent/proxy');
  stop.abort('Stop');
  await ended;
  const [, proxy = ''] = /GIT_CONFIG_VALUE_\d+=(http:\/\/127\.0\.0\.1:\d+)/.exec(lines.join('\n')) ?? [];
  expect(proxy).not.toBe('');
  await expect(fetch(proxy)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
});

describe('a credential', () => {
  const pool = async (value = `robot:${secret}`, hosts = ['127.0.0.1']): Promise<Partial<WorkspacePorts>> => {
    const file = join(await mkdtemp(join(dir, 'secret-')), 'robot');
    await writeFile(file, `${value}\n`);
    return { credentials: [{ name: 'robot', hosts, file }] };
  };

  test('opens the repository of its own host, and is not passed on', async () => {
    const { keeper } = await start(`${server.origin}/private/app/.git`, await pool(), 'robot');
    expect(await keeper.files()).toEqual({ README: 'hello\n' });
    expect(await readFile(join(keeper.folder, '.git/config'), 'utf8')).not.toMatch(/Authorization|credential/);
    expect(server.requests.filter((line) => line.includes(basic)).length).toBeGreaterThan(0);
  });

  test.each([
    ['a repository of its list', '/private/app/.git', ['127.0.0.1/private/'], undefined],
    ['this repository alone', '/private/app/.git', ['127.0.0.1/private/app/.git/'], 'CredentialNotForRepository'],
    ['another one of the host', '/private/app/.git', ['127.0.0.1/team/'], 'CredentialNotForRepository'],
    ['one that the server leads elsewhere', '/moved/app/.git', ['127.0.0.1/moved/'], 'RedirectRefused'],
  ])('that is bound to repositories opens %s', async (_, path, repositories, refused) => {
    answers['/moved'] = [302, { location: '/private/app/.git/info/refs?service=git-upload-pack' }];
    const { credentials = [] } = await pool();
    const before = server.requests.length;
    const bound = { credentials: credentials.map((one) => ({ ...one, repositories })) };
    if (refused === undefined)
      expect(await (await start(`${server.origin}${path}`, bound, 'robot')).keeper.files()).toEqual({ README: 'hello\n' });
    else {
      expect(await failureOf(`${server.origin}${path}`, bound, 'robot')).toMatchObject({ failureClass: 'InvalidInput', reason: refused });
      expect(server.requests.slice(before).join('\n')).not.toContain('Basic');
    }
  });

  test('is not sent where no server asks for it', async () => {
    const before = server.requests.length;
    await start(`${server.origin}/team/app/.git`, await pool(), 'robot');
    expect(server.requests.slice(before).join('\n')).not.toContain('Basic');
  });

  test('is not sent to the host of a redirect', async () => {
    const other = await mkdtemp(join(dir, 'other-'));
    const stranger = await startGitServer(other, join(dir, 'root'), (request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return request.method !== undefined;
    });
    answers['/elsewhere'] = [302, { location: `${stranger.origin}/team/app/.git/info/refs?service=git-upload-pack` }];
    const both = join(other, 'both.crt');
    await writeFile(both, `${await readFile(server.authorities, 'utf8')}${await readFile(stranger.authorities, 'utf8')}`);
    const failure = await failureOf(
      `${server.origin}/elsewhere/app`,
      { ...(await pool()), authorities: both, dialer: dialerTo(server.origin, stranger.origin) },
      'robot',
    );
    await stranger.close();
    expect(failure.reason).toBe('AuthenticationRequired');
    expect(stranger.requests.length).toBeGreaterThan(0);
    expect(stranger.requests.join('\n')).not.toContain('Basic');
  });

  test('that the pool has not, or not for this host, is refused before anything is sent', async () => {
    const before = server.requests.length;
    const url = `${server.origin}/private/app`;
    expect(await failureOf(url, {}, 'robot')).toMatchObject({ failureClass: 'InvalidInput', reason: 'CredentialNotFound' });
    const foreign = await failureOf(url, await pool(undefined, ['git.example']), 'robot');
    expect(foreign).toMatchObject({ failureClass: 'InvalidInput', reason: 'CredentialNotForHost' });
    expect(foreign.message).toContain('git.example');
    expect(server.requests.length).toBe(before);
  });

  test('is in no message', async () => {
    const wrong = await failureOf(`${server.origin}/private/app`, await pool('robot:other-secret'), 'robot');
    expect(wrong.reason).toBe('AuthenticationRequired');
    expect(wrong.message).not.toContain('other-secret');
    const inAddress = await failureOf(`https://robot:${secret}@127.0.0.1:9/a/b`);
    expect(inAddress.message).not.toContain(secret);
  });

  test('is in no command line and no environment, and in a file for the worker alone', async () => {
    const stop = new AbortController();
    const place = start(`${server.origin}/silent/secret`, { ...(await pool()), signal: stop.signal }, 'robot');
    await expect.poll(() => processesWith('/silent/secret'), retryWhileUnavailable).not.toEqual([]);
    const lines = await processesWith('/silent/secret');
    const stores = await storesBelow(dir);
    stop.abort('Stop');
    await expect(place).rejects.toBe('Stop');
    for (const line of lines) expect(line).not.toMatch(/correct-horse|Basic/);
    expect(stores).toEqual([0o600]);
    expect(await storesBelow(dir)).toEqual([]);
  });
});

test('no file of the machine and no variable of the worker changes the behaviour of git', async () => {
  process.env['GIT_SSL_NO_VERIFY'] = '1';
  try {
    const other = await startGitServer(await mkdtemp(join(dir, 'other-')), join(dir, 'root'));
    expect((await failureOf(`${other.origin}/team/app/.git`)).reason).toBe('TLSFailed');
    await other.close();
  } finally {
    delete process.env['GIT_SSL_NO_VERIFY'];
  }
  await expect(access('/tmp/owned')).rejects.toThrow('ENOENT');
});

async function freePort(): Promise<number> {
  const probe: Server = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Modes of the files that credentials are in. */
async function storesBelow(folder: string): Promise<readonly number[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.name === 'credentials' && entry.isFile());
  return Promise.all(files.map(async (entry) => (await stat(join(entry.parentPath, entry.name))).mode & 0o777));
}

/** Command lines and environments of running processes that hold a text in the command line. */
async function processesWith(text: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!line.includes(text)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    found.push(`${line} ${environment}`.replaceAll('\0', ' '));
  }
  return found;
}
