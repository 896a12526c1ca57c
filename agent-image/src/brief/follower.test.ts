import { describe, expect, it } from 'vitest';
import { createTransport, ResourceClient, silentLog, systemClock } from '@agentfleet/kube';
import { startFakeServer } from '@agentfleet/kube/testing';
import { resources, type ConfigMap } from '../base/resources.ts';
import { brief as good, eventually } from '../testing/bed.ts';
import { BriefFollower, briefParser } from './follower.ts';

const configMap = (text?: string): ConfigMap => ({
  metadata: { name: 'coding-workers', namespace: 'platform' },
  data: text === undefined ? {} : { 'pool.json': text },
});

describe('reading a brief', () => {
  const parse = briefParser();

  it('accepts every brief that fits the schema', () => {
    expect(parse(configMap(JSON.stringify(good)))).toEqual({ brief: good });
  });

  it.for([
    ['no key', undefined, 'has no key pool.json'],
    ['no JSON', '{', 'is not JSON'],
    ['another format', JSON.stringify({ ...good, format: 'agentfleet.dev/pool/v2' }), '/format'],
    ['an unknown field', JSON.stringify({ ...good, more: 1 }), 'is not a brief'],
    [
      'an expert without address',
      JSON.stringify({ ...good, experts: [{ name: 'gen', role: 'Generalist', domains: ['*'] }] }),
      '/experts/0',
    ],
  ] as const)('says what is wrong with %s, and the cure', ([, text, words]) => {
    const parsed = parse(configMap(text));
    const problem = 'problem' in parsed ? parsed.problem : 'none';
    expect(problem).toContain(words);
    expect(problem).toContain('look at the status of the ExpertPool');
  });
});

describe('following a brief', () => {
  it('keeps the last good one while the newest is unreadable or gone, and reports it', async () => {
    const server = await startFakeServer();
    server.createNamespace('platform');
    const transport = createTransport(server.config, { userAgent: 'test' });
    const maps = new ResourceClient(transport, resources.configMaps);
    const stop = new AbortController();
    const options = { transport, namespace: 'platform', name: 'coding-workers', clock: systemClock, random: () => 0, log: silentLog };
    const follower = new BriefFollower(options);
    const seen: number[] = [];
    follower.onChange(({ namespaces }) => seen.push(namespaces.length));
    const running = follower.run(stop.signal);
    const write = (text: string): Promise<unknown> =>
      maps.patch({ namespace: 'platform', name: 'coding-workers' }, { data: configMap(text).data });

    expect(follower.problem).toContain('not read yet');
    await maps.create(configMap(JSON.stringify(good)));
    expect(await follower.first(stop.signal)).toEqual(good);
    expect(follower.problem).toBeUndefined();
    await write('{');
    await eventually('the problem is reported', () => follower.problem?.includes('is not JSON') === true);
    expect(follower.current).toEqual(good);
    await write(JSON.stringify({ ...good, namespaces: ['team', 'other'] }));
    await eventually('the new one is in force', () => follower.current?.namespaces.length === 2);
    await maps.delete({ namespace: 'platform', name: 'coding-workers' });
    await eventually('its loss is reported', () => follower.problem?.includes('was deleted') === true);
    expect(seen).toEqual([1, 2]);
    stop.abort();
    await running;
    await transport.close();
    await server.close();
  });
});
