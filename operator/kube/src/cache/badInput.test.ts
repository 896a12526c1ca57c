import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ResourceClient } from '../client/client.ts';
import { systemClock } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { startFakeServer } from '../testing/server.ts';
import { eventually, testBed, widgets, type Bed, type Widget } from '../testing/widget.ts';
import { plainConfig } from '../transport/kubeconfig.ts';
import { createTransport } from '../transport/transport.ts';
import type { Transport } from '../transport/types.ts';
import { Informer, type InformerOptions } from './informer.ts';

const kind = 'widgets.test.example.com';
const fast = { baseMs: 5, factor: 2, capMs: 50, jitter: 1, resetMs: 1000 };

interface Running extends AsyncDisposable {
  readonly informer: Informer<Widget>;
}

function follow(transport: Transport, options: Partial<InformerOptions<Widget>> = {}): Running {
  const common = { resource: widgets, clock: systemClock, random: Math.random, log: silentLog, backoff: fast };
  const informer = new Informer<Widget>({ transport, ...common, ...options });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  const close = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { informer, [Symbol.asyncDispose]: close };
}

const named = (name: string): { metadata: { namespace: string; name: string } } => ({ metadata: { namespace: 'default', name } });

/** Serves one answer to lists until it is switched to good ones. */
async function listServer(
  bad: string,
  head: Readonly<Record<string, string>> = {},
): Promise<{ server: Server; heal: () => void; asked: () => number }> {
  let good = false;
  let asked = 0;
  const list = JSON.stringify({ kind: 'WidgetList', metadata: { resourceVersion: '7' }, items: [named('a')] });
  const server = createServer((request, response) => {
    if (request.url?.includes('watch=true') === true) {
      response.writeHead(200).flushHeaders();
      return;
    }
    asked += 1;
    if (good || request.url === '/readyz') response.end(list);
    else if (head['cut'] === undefined) response.end(bad);
    else {
      response.writeHead(200, { 'content-length': String(bad.length + 100) }).write(bad);
      setImmediate(() => response.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, heal: () => (good = true), asked: () => asked };
}

describe('a watch line that is damaged', () => {
  const lines: Readonly<Record<string, string>> = {
    'no JSON': '{"type":"ADDED","obj',
    'no object': '7',
    null: 'null',
    'an unknown type': '{"type":"RENAMED","object":{"metadata":{"name":"x","resourceVersion":"5"}}}',
    'without an object': '{"type":"ADDED","object":null}',
    'an object without metadata': '{"type":"MODIFIED","object":{}}',
    'an object without a version': '{"type":"MODIFIED","object":{"metadata":{"name":"x"}}}',
    'an object without a name': '{"type":"ADDED","object":{"metadata":{"resourceVersion":"99999"}}}',
    'a list in place of an event': '[]',
    'bytes that are no text': '\u0000\uFFFD\u0001',
  };
  for (const [what, line] of Object.entries(lines)) {
    it(`${what}: the state is listed again, and nothing is lost or made up`, async () => {
      await using bed = await testBed({ bookmarkMs: 20 });
      const client = new ResourceClient(bed.transport, widgets);
      await client.create(named('before'));
      await using follower = follow(bed.transport);
      await follower.informer.waitForSync(30_000);
      await eventually('a watch', () => bed.server.watches.size === 1);
      bed.server.watches.inject(kind, `${line}\n`);
      await eventually('a second watch', () => bed.server.requests.filter(({ verb }) => verb === 'watch').length >= 2);
      await client.create(named('after'));
      await eventually('the object', () => follower.informer.lister.size === 2);
      expect(
        follower.informer.lister
          .list()
          .map((object) => object.metadata.name)
          .sort(),
      ).toEqual(['after', 'before']);
    });
  }

  it('a line without end is cut off at its limit', async () => {
    await using bed = await testBed({ bookmarkMs: 20 });
    await using follower = follow(bed.transport);
    await follower.informer.waitForSync(30_000);
    await eventually('a watch', () => bed.server.watches.size === 1);
    const megabyte = 'x'.repeat(2 ** 20);
    for (let i = 0; i < 17; i += 1) bed.server.watches.inject(kind, megabyte);
    await eventually('a second watch', () => bed.server.requests.filter(({ verb }) => verb === 'watch').length >= 2);
  });
});

describe('a list that is damaged', () => {
  const bodies: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>?]>> = {
    'cut in the middle': ['{"kind":"WidgetList","metadata":{"resourceVersion":"5"},"items":[{"metad'],
    'cut by the connection': ['{"kind":"WidgetList","metadata":{"resourceVersion":"5"},"items":[{"metad', { cut: 'yes' }],
    'an empty answer': [''],
    'an empty object': ['{}'],
    'a page of a proxy': ['<html>it works</html>'],
    'items that are no list': ['{"kind":"WidgetList","metadata":{"resourceVersion":"5"},"items":{}}'],
    'without a version': ['{"kind":"WidgetList","metadata":{},"items":[]}'],
  };
  for (const [what, [body, head]] of Object.entries(bodies)) {
    it(`${what}: is never taken for the state, and is asked for again`, async () => {
      const { server, heal, asked } = await listServer(body, head);
      const transport = createTransport(plainConfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), { userAgent: 'x/1' });
      await using follower = follow(transport, { watchList: false });
      await eventually('two tries', () => asked() >= 2);
      expect(follower.informer.hasSynced()).toBe(false);
      heal();
      await follower.informer.waitForSync(30_000);
      expect(follower.informer.lister.size).toBe(1);
      await follower[Symbol.asyncDispose]();
      await transport.close();
      server.closeAllConnections();
      server.close();
    });
  }
});

describe('a list that a client reads', () => {
  it('is refused when it is none', async () => {
    const { server } = await listServer('{}');
    const transport = createTransport(plainConfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), { userAgent: 'x/1' });
    await expect(new ResourceClient(transport, widgets).list()).rejects.toMatchObject({ code: 'AF_API_MALFORMED' });
    await transport.close();
    server.close();
  });
});

describe('code of ours that throws', () => {
  it('a transform: the object is kept whole; an indexer: it is found under nothing; the cache follows on', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    const errors: string[] = [];
    const odd = (object: Widget): boolean => object.metadata.name === 'odd';
    const throwing = <R>(value: (object: Widget) => R) => {
      return (object: Widget): R => {
        if (odd(object)) throw new Error('cannot read it');
        return value(object);
      };
    };
    await using follower = follow(bed.transport, {
      transform: throwing((object) => ({ ...object, spec: { size: 9 } })),
      indexers: { size: throwing((object) => [String(object.spec?.size)]) },
      log: { ...silentLog, error: (_, fields) => errors.push(String(fields?.['error'])) },
    });
    for (const name of ['one', 'odd', 'two']) await client.create({ ...named(name), spec: { size: 1 } });
    await eventually('all three', () => follower.informer.lister.size === 3);
    expect(follower.informer.lister.get('default/odd')?.spec).toEqual({ size: 1 });
    expect(follower.informer.lister.byIndex('size', '9')).toHaveLength(2);
    expect(follower.informer.lister.byIndex('size', '1')).toEqual([]);
    expect(errors.length).toBeGreaterThan(0);
    await client.delete({ namespace: 'default', name: 'odd' });
    await eventually('its end', () => follower.informer.lister.size === 2);
  });
});

describe('what a cluster takes away', () => {
  const definition = { resource: widgets, statusSubresource: true, generation: true };

  async function sync(bed: Bed, running: Running, count: number): Promise<void> {
    await eventually(`${count} objects`, () => running.informer.hasSeen(bed.server.version) && running.informer.lister.size === count);
  }

  it('a definition that is deleted empties the cache and shows in readiness; made again, it fills', async () => {
    await using bed = await testBed({ bookmarkMs: 20 });
    const client = new ResourceClient(bed.transport, widgets);
    await client.create(named('old'));
    await using follower = follow(bed.transport);
    await sync(bed, follower, 1);
    const deleted: string[] = [];
    follower.informer.addHandler({ onDelete: (object) => deleted.push(object.metadata.uid ?? '') });
    bed.server.removeKind(widgets);
    await eventually('a reason', () => follower.informer.refusal !== undefined);
    expect(deleted).toHaveLength(1);
    expect(follower.informer.lister.size).toBe(0);
    bed.server.addKind(definition);
    const made = await client.create(named('old'));
    await sync(bed, follower, 1);
    expect(follower.informer.refusal).toBeUndefined();
    expect(follower.informer.lister.get('default/old')?.metadata.uid).toBe(made.metadata.uid);
    expect(deleted).not.toContain(made.metadata.uid);
  });

  it('a token that expires during a watch is replaced at the next one', async () => {
    let token = 'Bearer 1';
    const server = await startFakeServer({ kinds: [definition], bookmarkMs: 20, authorization: () => token });
    const transport = createTransport(server.config, { userAgent: 'x/1' });
    const client = new ResourceClient(transport, widgets);
    await using follower = follow(transport);
    await follower.informer.waitForSync(30_000);
    token = 'Bearer 2';
    server.watches.disconnect();
    await client.create(named('later'));
    await eventually('the object', () => follower.informer.lister.size === 1);
    await follower[Symbol.asyncDispose]();
    await transport.close();
    await server.close();
  });
});
