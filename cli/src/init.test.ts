// `fleet init`: a first pool, and what its endpoint says of address, key and name.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv } from 'ajv';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ajvOptions, apiVersion, validators } from '@agentfleet/protocol/api';
import { baseUrl, endpointOf, type EndpointType } from './commands/endpoint.ts';
import { firstPool } from './commands/init.ts';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

let api: ApiServer;
beforeEach(async () => {
  api = await ApiServer.start();
});
afterEach(async () => {
  await api[Symbol.asyncDispose]();
});

describe('fleet init', () => {
  const flags = ['--endpoint', 'https://llm.example.com/v1/', '--model', 'm'];
  test('writes a Secret and a pool, and shows no key', async () => {
    api.others.set('/api/v1/namespaces/team/secrets/default-key', { metadata: { name: 'default-key' } });
    const { code, out } = await fleet(api, ['init', ...flags, '--key-env', 'KEY'], { env: { KUBECONFIG: api.kubeconfig, KEY: 'k-1\n' } });
    expect([code, out.includes('k-1')]).toEqual([0, false]);
    const written = api.seen.filter(({ method }) => method === 'PATCH').map(({ body }) => body);
    expect(written).toMatchObject([
      { kind: 'Secret', metadata: { name: 'default-key' }, stringData: { token: 'k-1' } },
      {
        kind: 'ExpertPool',
        spec: {
          default: true,
          experts: [{ engine: { type: 'OpenAI', api: { baseURL: 'https://llm.example.com/v1', model: 'm', credential: 'key' } } }],
          credentials: [{ name: 'key', secretRef: { name: 'default-key', key: 'token' }, hosts: ['llm.example.com'] }],
        },
      },
    ]);
    expect((await fleet(api, ['init', ...flags, '--key-env', 'KEY'])).err).toContain('there is an ExpertPool default');
  });

  test('needs no key for an endpoint that takes none', async () => {
    const { code, out } = await fleet(api, ['init', ...flags, '--no-key'], { env: { KUBECONFIG: api.kubeconfig } });
    expect([code, out.includes('Secret')]).toEqual([0, false]);
    const [pool, ...others] = api.seen.filter(({ method }) => method === 'PATCH').map(({ body }) => body);
    expect(others).toEqual([]);
    expect(pool).toMatchObject({ kind: 'ExpertPool', spec: { experts: [{ engine: { api: { model: 'm' } } }] } });
    expect(JSON.stringify(pool)).not.toContain('credential');
  });

  test.each([
    ['a key and none', [...flags, '--no-key', '--key-env', 'KEY'], /--no-key and a key do not go together/],
    ['no endpoint', ['--model', 'm'], /--endpoint is missing/],
    ['no key', flags, /--key-file, or a variable .*, or write --no-key/],
    ['a key file that is not there', [...flags, '--key-file', '/nowhere'], /correct --key-file/],
    ['no address', ['--endpoint', 'llm', '--model', 'm'], /write it like https/],
    ['a key of two lines', [...flags, '--key-file', import.meta.filename], /no single line of visible characters; give the bare key/],
    ['an address of Git with a password', [...flags, '--git', 'https://a:b@git.example.com/x'], /https address without credentials/],
    [
      'no token of Git',
      [...flags, '--key-env', 'KEY', '--git', 'https://git.example.com/x'],
      /there is no token of the Git server.*--git-key-env/,
    ],
  ])('writes nothing with %s', async (_, args, message) => {
    const { code, err } = await fleet(api, ['init', ...args], { env: { KUBECONFIG: api.kubeconfig, KEY: 'k-1' } });
    expect(code).toBe(1);
    expect(err).toMatch(message);
    expect(api.seen.filter(({ method }) => method === 'PATCH')).toEqual([]);
  });
});

test.each<readonly [type: EndpointType, written: string, base: string]>([
  ['OpenAI', ' https://LLM.example.com/v1/ ', 'https://llm.example.com/v1'],
  ['OpenAI', 'https://llm.example.com/v1/chat/completions', 'https://llm.example.com/v1'],
  ['OpenAI', 'http://10.1.2.3:8000', 'http://10.1.2.3:8000'],
  ['OpenAI', 'https://n.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2025-01-01-preview', 'https://n.openai.azure.com/openai/deployments/gpt?api-version=2025-01-01-preview'],
  ['Anthropic', 'https://api.anthropic.com/v1/messages', 'https://api.anthropic.com'],
  ['Anthropic', 'https://api.anthropic.com/v1/', 'https://api.anthropic.com'],
])('%s at %j is written as %s', (type, written, base) => {
  expect(baseUrl(endpointOf(written, type))).toBe(base);
}); // prettier-ignore

test.each([
  ['http://', /is no base URL/],
  ['ftp://llm.example.com', /is no base URL/],
  ['https://10.0.0.256', /is no base URL/],
  ['https://llm.example.com:99999', /is no base URL/],
  ['https://llm example.com', /is no base URL/],
  ['https://user:s3cret@llm.example.com/v1', /a user or a key before llm\.example\.com; leave it out/],
  ['https://llm.example.com/v1?key=s3cret', /llm\.example\.com has more than a host, a port and a path/],
  ['https://llm.example.com/v 1', /more than a host/],
  ['http://localhost:11434/v1', /localhost:11434 is an address that every machine has for itself/],
  ['http://127.0.0.1:11434/v1', /name a host that the cluster reaches/],
])('%s is no endpoint, and shows no key', (written, message) => {
  expect(() => endpointOf(written, 'OpenAI')).toThrow(message);
  expect(() => endpointOf(written, 'OpenAI')).not.toThrow(/s3cret/);
});

describe('fleet init and its endpoint', () => {
  let server: Server;
  let asked: IncomingMessage[];
  let answer: { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> };
  beforeEach(async () => {
    asked = [];
    api.others.set('/api/v1/namespaces/team/secrets/default-key', { metadata: { name: 'default-key' } });
    server = createServer((request, response) => {
      asked.push(request);
      response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });
  /** The endpoint has a name in the cluster, and is here on the loopback. */
  const reached: typeof fetch = (url, init) => {
    const { pathname, search } = new URL(url);
    return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}${search}`, init);
  };
  const init = (type: EndpointType = 'OpenAI', by: typeof fetch = reached, url = 'http://llm.example.com/v1') =>
    fleet(api, ['init', '--endpoint', url, '--model', 'qwen3-coder', '--type', type, '--key-env', 'KEY'], {
      env: { KUBECONFIG: api.kubeconfig, KEY: 'k-1' },
      fetch: by,
    });
  const ids = (...all: readonly string[]) => ({ status: 200, body: { data: all.map((id) => ({ id })) } });

  test.each<readonly [what: string, said: typeof answer]>([
    ['it lists', ids('other', 'qwen3-coder')],
    ['it lists by an owner', { status: 200, body: [{ id: 'models/qwen3-coder' }] }],
    ['it lists by name', { status: 200, body: { models: [{ name: 'qwen3-coder' }] } }],
  ])('reports a name that %s', async (_what, said) => {
    answer = said;
    const { code, out, err } = await init();
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('the endpoint llm.example.com answers, takes the key and has the model qwen3-coder\n');
    expect(asked.map(({ url, headers: { authorization } }) => [url, authorization])).toEqual([['/v1/models', 'Bearer k-1']]);
  });

  test('asks the Messages API by its headers', async () => {
    answer = ids('qwen3-coder');
    expect((await init('Anthropic')).err).toBe('');
    expect(asked.map(({ url, headers }) => [url, headers['x-api-key'], headers.authorization])).toEqual([
      ['/v1/models?limit=1000', 'k-1', undefined],
    ]);
  });

  test.each<readonly [what: string, said: typeof answer, message: RegExp]>([
    ['no such name', ids('zeta', 'qwen3-coder-30b\u001b[2J', 'Qwen3'), /lists no model qwen3-coder; of 3 names these are next: qwen3-coder-30b\\u\{1b\}\[2J, Qwen3, zeta\n/],
    ['another key', { status: 401, body: {} }, /refuses the key \(401\); correct it in its Secret/],
    ['no list', { status: 404, body: {} }, /no list of models at \/v1 \(404\).*is its path right, as \/v1\?/],
    ['something else', { status: 200, body: 'hello' }, /no list of models at \/v1 \(200\)/],
    ['a redirect', { status: 307, body: {}, headers: { location: 'http://127.0.0.1:1/' } }, /redirects \(307\), which no key follows/],
  ])('warns of %s, and ends well', async (_what, said, message) => {
    answer = said;
    const { code, out, err } = await init();
    expect([code, out.includes('ExpertPool team/default is written')]).toEqual([0, true]);
    expect(err).toMatch(message);
    expect([asked.length, (out + err).includes('k-1')]).toEqual([1, false]);
  }); // prettier-ignore

  test.each(['http://llm.models.svc:8000/v1', 'http://llm/v1', 'https://n.openai.azure.com/openai/deployments/gpt'])(
    'asks nothing of %s, which has no list or is not reached from here',
    async (url) => {
      answer = ids('other');
      const { code, err } = await init('OpenAI', reached, url);
      expect([code, err, asked]).toEqual([0, '', []]);
    },
  );

  test('warns of an endpoint that does not answer, and ends well', async () => {
    const { code, err } = await init('OpenAI', () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })));
    expect(code).toBe(0);
    expect(err).toContain('does not answer this machine (ECONNREFUSED); that is no fault where only the cluster reaches it');
  });
});

test('a first pool is one that the API takes', () => {
  const flags = { type: 'Anthropic', name: 'default', allNamespaces: true, dryRun: false, gitPrivate: false } as const;
  const { spec } = firstPool('https://api.anthropic.com', 'm', flags, 'team');
  const check = validators<(value: unknown) => boolean>(new Ajv(ajvOptions));
  expect(check.ExpertPool({ apiVersion, kind: 'ExpertPool', metadata: { name: 'default' }, spec })).toBe(true);
  const git = { ...flags, git: 'https://10.0.0.7:3000/team/app.git', gitPrivate: true };
  const delivering = firstPool('https://api.anthropic.com', 'm', git, 'team').spec;
  expect(check.ExpertPool({ apiVersion, kind: 'ExpertPool', metadata: { name: 'default' }, spec: delivering })).toBe(true);
  expect(delivering).toMatchObject({
    policy: { allowedHosts: [{ host: '10.0.0.7', port: 3000 }] },
    credentials: [{ name: 'key' }, { name: 'git', secretRef: { name: 'default-git', key: 'token' }, hosts: ['10.0.0.7'] }],
  });
});
