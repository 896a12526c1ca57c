import { ConfigError } from '@agentfleet/protocol/environment';
import { describe, expect, it } from 'vitest';
import { backOffMs, failuresAfter } from './child.ts';
import { readSupervisor } from './plan.ts';
import { childEnv } from './supervise.ts';

const server = { name: 'gen', port: 7081, environment: { AGENTFLEET_ENGINE: 'Synth' }, gpus: [0] };
const access = {
  AGENTFLEET_ISSUER: 'https://cluster.test',
  AGENTFLEET_AUDIENCE: 'agentfleet-experts:fleet',
  AGENTFLEET_CALLERS: 'system:serviceaccount:fleet:worker',
};
const read = (list: unknown) => readSupervisor({ ...access, AGENTFLEET_SUPERVISE: JSON.stringify(list) });

describe('the servers of a supervisor', () => {
  it('come from its environment', () => {
    expect(read([server, { name: 'js', port: 7082 }])).toEqual({
      listen: { host: '::', port: 7080 },
      access: {
        issuer: access.AGENTFLEET_ISSUER,
        jwksFile: '/etc/agentfleet/jwks/jwks.json',
        callers: { audience: access.AGENTFLEET_AUDIENCE, subjects: [access.AGENTFLEET_CALLERS] },
        metricsReaders: [],
      },
      children: [server, { name: 'js', port: 7082, environment: {}, gpus: [] }],
      drainSeconds: 10,
      logLevel: 'info',
    });
  });

  it.each([
    ['a missing list', undefined, /AGENTFLEET_SUPERVISE: it is missing; set it in the pod/],
    ['no JSON', '[', /AGENTFLEET_SUPERVISE: it is not JSON .*; write \[/],
    ['nobody', '[]', /it is not a list of servers; write \[/],
    ['no object', '[7]', /\[0\] is no object; write \[/],
    ['a name', [{ ...server, name: 'Gen!' }], /\[0\]\.name is no name; write one of/],
    ['a port', [server, { ...server, name: 'js', port: 70_000 }], /\[1\]\.port is no port; write a number/],
    ['an environment', [{ ...server, environment: { A: 1 } }], /\[0\]\.environment is no object of texts; write/],
    ['what it sets itself', [{ ...server, environment: { CUDA_VISIBLE_DEVICES: '1' } }], /sets CUDA_VISIBLE_DEVICES itself; leave it out/],
    ['GPUs', [{ ...server, gpus: [0, 0] }], /\[0\]\.gpus is no list of different numbers of GPUs; write \[0\]/],
    ['names that occur twice', [server, { ...server, port: 7082 }], /two servers have the name gen; each needs its own/],
    ['ports that occur twice', [server, { ...server, name: 'js' }], /two servers have the port 7081; each needs its own/],
    ['its own port', [{ ...server, port: 7080 }], /"gen" has the port of the supervisor; give it another one/],
  ])('are refused with field and cure: %s', (_what, list, words) => {
    const text = typeof list === 'string' || list === undefined ? list : JSON.stringify(list);
    const refused = (): unknown => readSupervisor({ ...access, AGENTFLEET_SUPERVISE: text });
    expect(refused).toThrow(ConfigError);
    expect(refused).toThrow(words);
  });

  it('see their own GPUs, port and environment, and not the list', () => {
    const base = { PATH: '/bin', AGENTFLEET_ENGINE: 'Replay', AGENTFLEET_SUPERVISE: '[]' };
    expect(childEnv(base, { ...server, gpus: [1, 2] }, '::')).toEqual({
      PATH: '/bin',
      AGENTFLEET_ENGINE: 'Synth',
      AGENTFLEET_LISTEN: '[::]:7081',
      CUDA_VISIBLE_DEVICES: '1,2',
    });
    // Empty: none at all. Left out it would be all.
    expect(childEnv({}, { ...server, gpus: [] }, '127.0.0.1')).toMatchObject({
      AGENTFLEET_LISTEN: '127.0.0.1:7081',
      CUDA_VISIBLE_DEVICES: '',
    });
  });

  it('are started again after a pause that doubles, and begins anew for one that was up for a minute', () => {
    expect([1, 2, 3, 6, 7, 50].map(backOffMs)).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000]);
    expect(failuresAfter(5, 59_999)).toBe(6);
    expect(failuresAfter(5, 60_000)).toBe(1);
  });
});
