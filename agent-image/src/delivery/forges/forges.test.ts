import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Forge } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dialerTo, startGitServer, type GitServer } from '../../workspace/testing/gitServer.ts';
import { withPullRequests, type PullRequests } from './index.ts';

/** The wire shapes of the forges, as their documentation shows them. */
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'forges-'));
  await writeFile(join(folder, 'token'), 'secret-token');
  await writeFile(join(folder, 'robot'), 'robot:secret-token');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** One expected request, and its answer. */
type Exchange = readonly [request: string, status: number, answer: unknown, sent?: object];

interface Asked {
  readonly forge?: Forge;
  readonly credential?: 'token' | 'robot';
  readonly hosts?: readonly string[];
  readonly repositories?: readonly string[];
  /** Header that each request to the API carries. */
  readonly authorization?: string;
}

async function at<T>(url: string, exchanges: readonly Exchange[], use: (pulls: PullRequests) => Promise<T>, asked: Asked = {}): Promise<T> {
  const { forge, credential = 'token', hosts = [new URL(url).hostname, 'api.github.com'], repositories, authorization } = asked;
  const left = [...exchanges];
  const fetch: typeof globalThis.fetch = (to, init) => {
    const [request, status, answer, sent] = left.shift() ?? [];
    expect(`${init?.method} ${typeof to === 'string' ? to : 'no text'}`).toBe(request);
    if (sent !== undefined) expect(JSON.parse(typeof init?.body === 'string' ? init.body : 'null')).toEqual(sent);
    if (authorization !== undefined) expect(new Headers(init?.headers).get('authorization')).toBe(authorization);
    if (answer instanceof Response) return Promise.resolve(answer);
    return Promise.resolve(new Response(typeof answer === 'string' ? answer : JSON.stringify(answer), { status: status ?? 500 }));
  };
  const bound = repositories === undefined ? {} : { repositories: [...repositories] };
  const credentials = [{ name: credential, hosts: [...hosts], ...bound, file: join(folder, credential) }];
  const options = { url, credential, credentials, forge, dialer: dialerTo(), signal: new AbortController().signal, fetch };
  const result = await withPullRequests(options, use);
  expect(left).toEqual([]);
  return result;
}

const order = { title: 'Fix', body: 'why', head: 'agentfleet/fix', into: 'main' };

describe('GitHub', () => {
  const authorization = 'Bearer secret-token';

  it('lists and opens by api.github.com', async () => {
    const pulls = 'https://api.github.com/repos/acme/parser/pulls';
    const one = { number: 7, html_url: 'https://github.com/acme/parser/pull/7', state: 'closed', body: null };
    const exchanges: readonly Exchange[] = [
      [`GET ${pulls}?state=all&per_page=100&head=acme:agentfleet%2Ffix`, 200, [one]],
      [
        `POST ${pulls}`,
        201,
        { number: 8, html_url: 'https://github.com/acme/parser/pull/8' },
        { title: 'Fix', body: 'why', head: 'agentfleet/fix', base: 'main' },
      ],
    ];
    const use = async (asked: PullRequests): Promise<void> => {
      expect(await asked.list(order.head)).toEqual([{ url: one.html_url, open: false, body: '' }]);
      expect(await asked.open(order)).toBe('https://github.com/acme/parser/pull/8');
    };
    await at('https://github.com/acme/parser.git', exchanges, use, { authorization });
  });

  it('of an enterprise is recognised by its API', async () => {
    const origin = 'https://git.acme.example';
    const exchanges: readonly Exchange[] = [
      [`GET ${origin}/api/v4/version`, 404, ''],
      [`GET ${origin}/api/v1/version`, 404, 'not found'],
      [`GET ${origin}/api/v3/meta`, 200, { installed_version: '3.15.0' }],
      [`GET ${origin}/api/v3/repos/acme/parser/pulls?state=all&per_page=100&head=acme:x`, 200, []],
    ];
    expect(await at(`${origin}/acme/parser`, exchanges, (pulls) => pulls.list('x'))).toEqual([]);
  });

  it('gets no credential that is not for the host of its API', async () => {
    const asked = at('https://github.com/acme/parser', [], (pulls) => pulls.list('x'), { hosts: ['github.com'] });
    await expect(asked).rejects.toMatchObject({
      reason: 'CredentialNotForHost',
      message: expect.stringContaining('api.github.com') as string,
    });
  });

  it('gets a credential for its own repository alone, whatever the address of its API', async () => {
    const pulls = 'https://api.github.com/repos/acme/parser/pulls?state=all&per_page=100&head=acme:x';
    const list = (repositories: readonly string[], exchanges: readonly Exchange[]) =>
      at('https://github.com/acme/parser', exchanges, (asked) => asked.list('x'), { repositories });
    expect(await list(['github.com/acme/'], [[`GET ${pulls}`, 200, []]])).toEqual([]);
    await expect(list(['github.com/other/'], [])).rejects.toMatchObject({ reason: 'CredentialNotForRepository' });
  });
});

describe('GitLab', () => {
  it('is recognised where it asks for a token, and takes projects in groups', async () => {
    const api = 'https://lab.example/api/v4';
    const requests = `${api}/projects/1/merge_requests`;
    const shown = 'https://lab.example/a/b/parser/-/merge_requests';
    const exchanges: readonly Exchange[] = [
      [`GET ${api}/version`, 401, { message: '401 Unauthorized' }],
      [`GET ${api}/projects/a%2Fb%2Fparser`, 200, { id: 1 }],
      [
        `GET ${requests}?state=all&per_page=100&source_branch=agentfleet%2Ffix`,
        200,
        [
          { iid: 9, web_url: `${shown}/9`, state: 'opened', description: 'of a fork', source_project_id: 8, target_project_id: 1 },
          { iid: 3, web_url: `${shown}/3`, state: 'opened', description: 'text', source_project_id: 1, target_project_id: 1 },
        ],
      ],
      [
        `POST ${requests}`,
        201,
        { iid: 4, web_url: `${shown}/4` },
        { title: 'Fix', description: 'why', source_branch: 'agentfleet/fix', target_branch: 'main' },
      ],
    ];
    const use = async (asked: PullRequests): Promise<void> => {
      expect(await asked.list(order.head)).toEqual([{ url: `${shown}/3`, open: true, body: 'text' }]);
      expect(await asked.open(order)).toBe(`${shown}/4`);
    };
    await at('https://lab.example/a/b/parser.git', exchanges, use);
  });

  it('takes a project that has moved by its id, as the old path takes no POST', async () => {
    const api = 'https://gitlab.com/api/v4';
    const moved = new Response('', { status: 301, headers: { location: `${api}/projects/42` } });
    const exchanges: readonly Exchange[] = [
      [`GET ${api}/projects/a%2Fold`, 0, moved],
      [`GET ${api}/projects/42`, 200, { id: 42 }],
      [`POST ${api}/projects/42/merge_requests`, 201, { web_url: 'https://gitlab.com/a/new/-/merge_requests/1' }],
    ];
    expect(await at('https://gitlab.com/a/old', exchanges, (pulls) => pulls.open(order))).toBe(
      'https://gitlab.com/a/new/-/merge_requests/1',
    );
  });

  it('is recognised where the token lacks the scope of its API, which is named', async () => {
    const api = 'https://lab.example/api/v4';
    const answer = { error: 'insufficient_scope', error_description: 'The request requires higher privileges', scope: 'api read_api' };
    const exchanges: readonly Exchange[] = [
      [`GET ${api}/version`, 403, answer],
      [`GET ${api}/projects/a%2Fparser`, 403, answer],
    ];
    const asked = at('https://lab.example/a/parser', exchanges, (pulls) => pulls.list('x'));
    await expect(asked).rejects.toMatchObject({ reason: 'AccessDenied', message: expect.stringMatching(/scope "api"/) as string });
  });
});

/** The server of a repository is whose the task's author names. */
describe('an address in an answer', () => {
  const pulls = 'https://api.github.com/repos/acme/parser/pulls';
  const ask = <T>(exchange: Exchange, use: (asked: PullRequests) => Promise<T>): Promise<T> =>
    at('https://github.com/acme/parser', [exchange], use);

  it.each([
    ['a script', 'javascript:alert(1)'],
    ['a path', 'pull/7'],
    ['longer than a status takes', `https://github.com/${'x'.repeat(1024)}`],
  ])('is none where it is %s', async (_, html_url) => {
    const own = { html_url, state: 'open', body: '' };
    expect(await ask([`GET ${pulls}?state=all&per_page=100&head=acme:x`, 200, [own]], (asked) => asked.list('x'))).toEqual([]);
    await expect(ask([`POST ${pulls}`, 201, own], (asked) => asked.open(order))).rejects.toMatchObject({ reason: 'PullRequestRefused' });
  });

  it('has nothing that a terminal obeys', async () => {
    const html_url = 'https://github.com/\u001b[2J/7';
    expect(await ask([`POST ${pulls}`, 201, { html_url }], (asked) => asked.open(order))).toBe('https://github.com/%1B[2J/7');
  });
});

describe('Gitea', () => {
  it('finds the pull requests of a branch, page by page, and may lie below a path', async () => {
    const from = (ref: string, fork: number): object => ({ head: { ref, repo_id: fork }, base: { ref: 'main', repo_id: 1 } });
    const other = Array.from({ length: 49 }, () => ({ html_url: 'o', state: 'open', body: '', ...from('other', 1) }));
    const forked = { html_url: 'f', state: 'open', body: '', ...from('agentfleet/fix', 2) };
    const one = { html_url: 'https://git.example/tea/acme/parser/pulls/5', state: 'open', body: 'b', ...from('agentfleet/fix', 1) };
    const api = 'https://git.example/tea/api/v1';
    const page = (n: number): string => `GET ${api}/repos/acme/parser/pulls?state=all&sort=recentupdate&limit=50&page=${n}`;
    const exchanges: readonly Exchange[] = [
      ['GET https://git.example/api/v4/version', 404, ''],
      [`GET ${api}/version`, 200, { version: '1.25.2' }],
      [page(1), 200, [forked, ...other]],
      [page(2), 200, [one]],
    ];
    const authorization = `Basic ${Buffer.from('robot:secret-token').toString('base64')}`;
    const own = { credential: 'robot', authorization } as const;
    const found = await at('https://git.example/tea/acme/parser', exchanges, (pulls) => pulls.list(order.head), own);
    expect(found).toEqual([{ url: one.html_url, open: true, body: 'b' }]);
  });

  it('finds the pull request of a branch that was deleted since', async () => {
    const api = 'https://codeberg.org/api/v1';
    const from = (label: string, fork: number): object => ({
      html_url: `https://codeberg.org/acme/parser/pulls/${fork}`,
      state: 'closed',
      body: 'b',
      head: { label, ref: `refs/pull/${fork}/head`, repo_id: fork },
      base: { label: 'main', ref: 'main', repo_id: 1 },
    });
    const listed = [from('agentfleet/fix', 2), from('agentfleet/other', 1), from('agentfleet/fix', 1)];
    const exchanges: readonly Exchange[] = [
      [`GET ${api}/repos/acme/parser/pulls?state=all&sort=recentupdate&limit=50&page=1`, 200, listed],
    ];
    const found = await at('https://codeberg.org/acme/parser', exchanges, (pulls) => pulls.list(order.head));
    expect(found).toEqual([{ url: 'https://codeberg.org/acme/parser/pulls/1', open: false, body: 'b' }]);
  });
});

describe('an answer that is no success', () => {
  it.each([
    [401, { message: 'Bad credentials' }, 'InvalidInput', 'AuthenticationRequired', /Bad credentials\).*Secret of the credential/],
    [403, { message: 'Resource not accessible' }, 'InvalidInput', 'AccessDenied', /Pull requests: read and write/],
    [403, { message: 'You have exceeded a secondary rate limit' }, 'Infrastructure', 'RemoteUnavailable', /fewer tasks deliver at a time/],
    [429, {}, 'Infrastructure', 'RemoteUnavailable', /answered 429; when it stays, let fewer tasks deliver at a time/],
    [422, { message: 'Validation Failed', errors: [{ message: 'No commits' }] }, 'InvalidInput', 'PullRequestRefused', /No commits/],
    [503, 'down', 'Infrastructure', 'RemoteUnavailable', /answered 503; when it stays, look at the server, and open .* by hand/],
  ])('%d', async (status, body, failureClass, reason, words) => {
    const exchanges: readonly Exchange[] = [['POST https://api.github.com/repos/acme/parser/pulls', status, body]];
    const failure = await at('https://github.com/acme/parser', exchanges, (pulls) => pulls.open(order)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ failureClass, reason, message: expect.stringMatching(words) as string });
    expect(String(failure)).not.toContain('secret-token');
  });

  it.each([
    ['retry-after', { 'retry-after': '7' }, 7000],
    ['the reset of a limit that is used up', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' }, 0],
    ['no time', { 'x-ratelimit-remaining': '12' }, undefined],
  ])('403 with %s', async (_, headers, retryAfterMs) => {
    const answer = new Response('{}', { status: 403, headers });
    const exchanges: readonly Exchange[] = [['POST https://api.github.com/repos/acme/parser/pulls', 403, answer]];
    const failure: unknown = await at('https://github.com/acme/parser', exchanges, (pulls) => pulls.open(order)).catch(
      (error: unknown) => error,
    );
    const reason = retryAfterMs === undefined ? 'AccessDenied' : 'RemoteUnavailable';
    expect(failure).toMatchObject({ reason, ...(retryAfterMs !== undefined && { retryAfterMs }) });
  });

  it('of an unknown server names the field that sets its kind', async () => {
    const api = 'https://git.example/api';
    const exchanges = ['v4/version', 'v1/version', 'v3/meta'].map((path): Exchange => [`GET ${api}/${path}`, 404, 'none']);
    const asked = at('https://git.example/acme/parser', exchanges, (pulls) => pulls.list('x'));
    await expect(asked).rejects.toMatchObject({ reason: 'ForgeUnknown', message: expect.stringContaining('pullRequest.forge') as string });
  });

  it.each([
    ['overloaded', new Response('<html>', { status: 502 }), {}],
    ['too slow', new Response('', { status: 408 }), {}],
    ['at its rate limit', new Response('Retry later', { status: 429, headers: { 'retry-after': '30' } }), { retryAfterMs: 30_000 }],
    [
      'at a limit that it answers with 403',
      Response.json({ message: 'API rate limit exceeded' }, { status: 403 }),
      { retryAfterMs: 60_000 },
    ],
  ])('of an unknown server that is %s is tried again', async (_, answer, more) => {
    const api = 'https://git.example/api';
    const exchanges: readonly Exchange[] = [
      [`GET ${api}/v4/version`, 0, answer],
      [`GET ${api}/v1/version`, 0, new Response('', { status: 302, headers: { location: '/users/sign_in' } })],
      [`GET ${api}/v3/meta`, 404, 'none'],
    ];
    const asked = at('https://git.example/acme/parser', exchanges, (pulls) => pulls.list('x'));
    await expect(asked).rejects.toMatchObject({ failureClass: 'Infrastructure', reason: 'RemoteUnavailable', ...more });
  });

  it('of a forbidden server reports that, and so does one of an unavailable server', async () => {
    const { signal } = new AbortController();
    const shared = { credential: undefined, credentials: [], forge: 'Gitea' as const, signal };
    const inside = withPullRequests({ ...shared, url: 'https://10.96.0.1/a/b', dialer: dialerTo() }, (pulls) => pulls.list('x'));
    await expect(inside).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'HostNotAllowed' });
    const away = { ...shared, url: 'https://127.0.0.1:1/a/b', dialer: dialerTo('https://127.0.0.1:1') };
    await expect(withPullRequests(away, (pulls) => pulls.list('x'))).rejects.toMatchObject({
      failureClass: 'Infrastructure',
      reason: 'RemoteUnreachable',
    });
  });
});

describe('a repository that has moved', () => {
  /** Where requests lead, by path; others are answered. */
  const moved: Record<string, readonly [status: number, location: string]> = {};
  const asked: string[] = [];
  let server: GitServer;
  let other: GitServer;
  beforeAll(async () => {
    server = await startGitServer(folder, folder, (request, response) => {
      const { pathname, search } = new URL(request.url ?? '', 'https://server');
      const [status, location] = moved[pathname] ?? [];
      asked.push(`${request.method} ${pathname}${search} ${request.headers.authorization ?? ''}`);
      if (status !== undefined && location !== undefined) response.writeHead(status, { location }).end('moved');
      else if (request.method === 'GET') response.end('[]');
      else
        request.on('data', (sent: Buffer) => {
          const { title } = JSON.parse(sent.toString()) as { readonly title: string };
          response.writeHead(201).end(JSON.stringify({ html_url: `https://shown.example/${title}` }));
        });
      return true;
    });
    await mkdir(join(folder, 'other'));
    other = await startGitServer(join(folder, 'other'), folder);
  });
  afterAll(() => Promise.all([server.close(), other.close()]));
  beforeEach(() => {
    asked.length = 0;
    for (const path of Object.keys(moved)) delete moved[path];
  });

  const [old, now] = ['/api/v3/repos/acme/old/pulls', '/api/v3/repositories/42/pulls'];
  const use = async <T>(work: (pulls: PullRequests) => Promise<T>): Promise<T> => {
    const credentials = [{ name: 'token', hosts: ['127.0.0.1'], file: join(folder, 'token') }];
    const authorities = await readFile(server.authorities, 'utf8');
    const dialer = dialerTo(server.origin, other.origin);
    const own = { credential: 'token', credentials, forge: 'GitHub' as const, dialer, authorities, signal: new AbortController().signal };
    return withPullRequests({ url: `${server.origin}/acme/old.git`, ...own }, work);
  };

  it.each([
    [301, (): string => `${server.origin}${now}`],
    [307, (): string => now],
    [308, (): string => `${now}?state=all&per_page=100&head=acme:agentfleet%2Ffix`],
  ])('%d is followed at the same server, with method, query, body and token', async (status, location) => {
    moved[old] = [status, location()];
    await use(async (pulls) => {
      expect(await pulls.list(order.head)).toEqual([]);
      moved[old] = [status, now];
      expect(await pulls.open(order)).toBe(`https://shown.example/${order.title}`);
    });
    const token = 'Bearer secret-token';
    const query = '?state=all&per_page=100&head=acme:agentfleet%2Ffix';
    expect(asked).toEqual([`GET ${old}${query} ${token}`, `GET ${now}${query} ${token}`, `POST ${old} ${token}`, `POST ${now} ${token}`]);
  });

  it.each([
    ['to another server', 301, (): string => `${other.origin}${now}`],
    ['to another port of another protocol', 308, (): string => `http://127.0.0.1:9${now}`],
    ['with another method', 302, (): string => now],
    ['without end', 301, (): string => old],
    ['to nowhere', 301, (): string => 'https://'],
  ])('%s is not followed, and the address is to be corrected', async (_, status, location) => {
    moved[old] = [status, location()];
    const failure: unknown = await use((pulls) => pulls.list('x')).catch((error: unknown) => error);
    const message = expect.stringMatching(/the repository has moved.*correct spec\.workspace\.git\.url/) as string;
    expect(failure).toMatchObject({ failureClass: 'InvalidInput', reason: 'RedirectRefused', message });
    expect([other.requests, asked.length < 9]).toEqual([[], true]);
  });
});
