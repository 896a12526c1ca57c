import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '@agentfleet/kube';
import { toolDefinitions } from '@agentfleet/protocol/chat';
import { createDialer, createEgress, type Dialer } from '../egress/index.ts';
import { listening } from '../egress/testing/sockets.ts';
import type { BedOptions } from './testing/bed.ts';
import { openStage } from './testing/play.ts';

const { binary, begin } = await openStage();

describe.skipIf(binary === '')('ask_human', () => {
  const approvals = { require: ['Destructive'], timeoutSeconds: 60 };
  const policy = { profile: 'Default', network: { mode: 'None' }, approvals } as never;

  /** A person who decides as soon as there is a question. */
  const person = (decision: object): BedOptions => {
    const decided: object[] = [];
    const report = ({ pendingApproval }: { readonly pendingApproval?: { readonly action: string } | undefined }): void => {
      if (pendingApproval !== undefined) decided.push({ action: pendingApproval.action, at: '2030-01-01T00:00:00Z', ...decision });
    };
    return { spec: { policy }, context: { report, approvals: () => decided as never } };
  };

  it.each([
    ['an answer', { decision: 'Answered', answer: 'Port 8080.\u202e', orderRef: { name: 'o1' } }, true, /^Port 8080\.\\u\{202e\}\n\[answered by order o1/],
    ['no answer', { decision: 'Expired' }, false, /^\[no answer: .*; decide by yourself, and name in your answer what you assumed\]$/],
  ])('waits for %s', async (_, decision, ok, text) => {
    const bed = await begin(person(decision));
    const asked = await bed.call('ask_human', { question: 'Which port?' });
    expect(asked.text).toMatch(text);
    expect(asked.ok).toBe(ok);
  }); // prettier-ignore

  it('is there only where the task lets people decide', async () => {
    const bed = await begin();
    expect(bed.tools.definitions.map(({ name }) => name)).toEqual(['bash', 'edit_file', 'run_checks', 'submit', 'read_file', 'search', 'update_plan', 'undo']);
  }); // prettier-ignore
});

describe.skipIf(binary === '')('fetch', () => {
  const page = '<title>Docs</title><script>alert(1)</script><p>Use <b>&lt;port&gt;</b> 8080.\u001b[2J</p>';
  const answers: Readonly<Record<string, readonly [number, Readonly<Record<string, string>>, string | Buffer]>> = {
    '/page': [200, { 'content-type': 'text/html; charset=utf-8' }, page],
    '/long': [200, { 'content-type': 'text/plain' }, 'ä'.repeat(100)],
    '/image': [200, { 'content-type': 'image/png' }, Buffer.from([0x89, 0x50, 0x4e, 0x47, 0])],
    '/moved': [302, { location: '/page' }, ''],
    '/away': [302, { location: 'http://other.example/' }, ''],
    '/gone': [404, { 'content-type': 'text/plain' }, 'nothing here'],
  };
  const server = createServer(({ url = '' }, response) => {
    const [status, headers, body] = answers[url] ?? [500, {}, ''];
    response.writeHead(status, headers).end(body);
  });
  let port = 0;
  beforeAll(async () => {
    port = await listening(server);
  });
  afterAll(() => server.close());

  const fetching = (): BedOptions => {
    const hosts = [{ host: 'docs.example', port }, { host: 'private.example', port }];
    const network = { mode: 'Allowed', hosts };
    const policy = { profile: 'Default', network } as never;
    const here = { host: '127.0.0.1', port };
    const resolve = (): Promise<readonly string[]> => Promise.resolve(['10.0.0.7']);
    const judged = createDialer({ clock: systemClock, env: {}, resolve })({ open: [here] });
    // One name resolves to this machine; the other to a private address, which its own rules judge.
    const dialer: Dialer = { dial: (to, signal) => judged.dial(to.host === 'docs.example' ? here : to, signal) };
    return { spec: { policy }, engine: { openEgress: createEgress(() => dialer), web: { openDialer: () => dialer } } };
  }; // prettier-ignore

  it('is there with all other tools, in their order, where policy and pool allow everything', async () => {
    const { spec, engine } = fetching();
    const policy = { ...spec?.policy, approvals: { require: ['External'] } } as never;
    const experts = [{ name: 'search', role: 'Specialist', engine: 'Synth', domains: ['*'], url: 'http://127.0.0.1:1' }] as never;
    const bed = await begin({ spec: { policy }, pool: { experts }, ...(engine !== undefined && { engine }) });
    expect(bed.tools.definitions).toEqual(toolDefinitions);
    const denied = await begin({
      spec: { policy, tools: { deny: ['bash', 'undo'] } },
      pool: { experts, tools: { deny: ['fetch'], timeouts: {}, mcpServers: [] } },
      ...(engine !== undefined && { engine }),
    });
    const left = toolDefinitions.filter(({ name }) => !['bash', 'undo', 'fetch'].includes(name));
    expect(denied.tools.definitions).toEqual(left);
  });

  it.each([
    ['text of HTML', '/page', {}, true, /^Docs\n\nUse <port> 8080\.\n\[status 200, text\/html, \d+ bytes, http:\/\/docs\.example:\d+\/page\]$/],
    ['as much as is asked for', '/long', { max_bytes: 7 }, true, /^äää\n\[status 200, text\/plain, 7 bytes, \S+, the first 7 bytes; max_bytes takes more\]$/],
    ['no images', '/image', {}, false, /^\[status 200, image\/png, 5 bytes, \S+, not UTF-8 text\]$/],
    ['what it is redirected to', '/moved', {}, true, /Use <port> 8080\.\n\[status 200, .*\/page\]$/],
    ['no redirect to another host', '/away', {}, false, /^url: other\.example:80 is not listed in spec\.policy\.network\.hosts; the hosts are: docs\.example:\d+, /],
    ['an error as one', '/gone', {}, false, /^nothing here\n\[status 404, /],
  ])('gets %s', async (_, path, more, ok, text) => {
    const bed = await begin(fetching());
    const got = await bed.call('fetch', { url: `http://docs.example:${port}${path}`, ...more });
    expect(got.text).toMatch(text);
    expect(got.ok).toBe(ok);
  }); // prettier-ignore

  it('reaches no private address, no unlisted host, and no other scheme', async () => {
    const bed = await begin(fetching());
    const get = async (url: string): Promise<string> => (await bed.call('fetch', { url })).text;
    expect(await get(`http://private.example:${port}/page`)).toMatch(/^url: private\.example:\d+ may not be reached: /);
    expect(await get(`http://127.0.0.1:${port}/page`)).toMatch(/^url: 127\.0\.0\.1:\d+ is not listed/);
    expect(await get('file:///etc/passwd')).toBe('url: file: is not served; use http or https');
    expect(await get(`http://me:secret@docs.example:${port}/`)).toMatch(/^url: it holds a name and password/);
    expect(await get('docs.example')).toMatch(/^url: docs\.example is no URL/);
  });

  it('is in the log before and after', async () => {
    const bed = await begin(fetching());
    await bed.call('fetch', { url: `http://docs.example:${port}/page` });
    const noted: unknown[] = [];
    await bed.scope.session.events(({ type, body }) => (type === 'Noted' ? noted.push((body as { kind: unknown }).kind) : 0));
    expect(noted.slice(-2)).toEqual(['Intent', 'Fetched']);
  });
});
