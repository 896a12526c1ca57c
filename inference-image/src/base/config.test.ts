import { describe, expect, it } from 'vitest';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig as readAll } from './config.ts';

/** The operator's access settings for a server in a pod. */
const access = {
  AGENTFLEET_ISSUER: 'https://cluster.test',
  AGENTFLEET_AUDIENCE: 'agentfleet-experts:fleet',
  AGENTFLEET_CALLERS: 'system:serviceaccount:fleet:worker',
};
const readConfig = (env: Readonly<Record<string, string>>) => readAll({ ...access, ...env });

describe('the configuration', () => {
  it('needs only the access settings: Synth on port 7080', () => {
    expect(readConfig({})).toMatchObject({ listen: { host: '::', port: 7080 }, socket: null, engine: { type: 'Synth' }, queueLimit: 64 });
  });

  it('takes a record for Replay and only for Replay', () => {
    expect(readConfig({ AGENTFLEET_ENGINE: 'Replay', AGENTFLEET_REPLAY: '/record' }).engine).toEqual({ type: 'Replay', record: '/record' });
    expect(() => readConfig({ AGENTFLEET_ENGINE: 'Replay' })).toThrow(/AGENTFLEET_REPLAY: it is missing/);
    expect(() => readConfig({ AGENTFLEET_REPLAY: '/record' })).toThrow(/the engine is not Replay/);
  });

  it('names every fault at once, with its variable', () => {
    const bad = {
      AGENTFLEET_LISTEN: 'nowhere',
      AGENTFLEET_SOCKET: 'here.sock',
      AGENTFLEET_ROLES: 'Generalist,King',
      AGENTFLEET_ENGINE: 'Magic',
      AGENTFLEET_AUTHENTICATION: 'Maybe',
      AGENTFLEET_QUEUE_LIMIT: '0',
      AGENTFLEET_BATCH_LIMIT: 'many',
      AGENTFLEET_GRAMMARS: 'wasm',
      LOG_LEVEL: 'loud',
    };
    try {
      readConfig(bad);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as ConfigError).faults.map((fault) => fault.split(':')[0])).toEqual(Object.keys(bad));
    }
  });

  it.each([
    ['no issuer', { AGENTFLEET_ISSUER: '' }, /AGENTFLEET_ISSUER: it is missing; set it in the pod/],
    ['no audience', { AGENTFLEET_AUDIENCE: '' }, /AGENTFLEET_AUDIENCE: it is missing/],
    ['no callers', { AGENTFLEET_CALLERS: '' }, /AGENTFLEET_CALLERS: it is missing/],
    ['a caller of all namespaces', { AGENTFLEET_CALLERS: 'system:serviceaccount:*:worker' }, /is no subject of a ServiceAccount; write/],
    ['None on all addresses', { AGENTFLEET_AUTHENTICATION: 'None' }, /this one listens on ::; listen on 127\.0\.0\.1, or use Tokens/],
    [
      'None on the address of a pod',
      { AGENTFLEET_AUTHENTICATION: 'None', AGENTFLEET_LISTEN: '10.0.0.7:7080' },
      /AGENTFLEET_AUTHENTICATION: None is for a server on a loopback address/,
    ],
  ])('is never without authentication where others reach it: %s', (_what, env, words) => {
    expect(() => readConfig(env)).toThrow(words);
  });

  it('runs without authentication on a loopback address, when configured so', () => {
    const local = { AGENTFLEET_AUTHENTICATION: 'None' };
    for (const host of ['127.0.0.1', '[::1]', 'localhost'])
      expect(readAll({ ...local, AGENTFLEET_LISTEN: `${host}:7080` }).access).toBeNull();
    expect(() => readAll({ AGENTFLEET_LISTEN: '127.0.0.1:7080' })).toThrow(/AGENTFLEET_ISSUER: it is missing/);
  });

  const builtin = { AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: 'Verifier' };

  it('takes the artifact and the weights of a verifier', () => {
    const heads = { AGENTFLEET_LAMBDA: '0.5', AGENTFLEET_HEADS: 'Code=0.9,Shell=1' };
    expect(readConfig({ ...builtin, ...heads })).toMatchObject({
      roles: ['Verifier'],
      engine: {
        role: 'Verifier',
        artifact: 'features-v3',
        digest: null,
        weighting: { lambda: 0.5, heads: { Code: 0.9, Shell: 1, Editor: 0.6 } },
      },
    });
  });

  it.each([
    [
      'a role that the engine has not',
      { AGENTFLEET_ROLES: 'Policy' },
      /AGENTFLEET_ROLES: Synth does not answer as Policy; it can be Generalist/,
    ],
    [
      'a generating role of Builtin',
      { ...builtin, AGENTFLEET_ROLES: 'Draft' },
      /AGENTFLEET_ROLES: Builtin does not answer as Draft; it can be Planner/,
    ],
    ['no role of Builtin', { AGENTFLEET_ENGINE: 'Builtin' }, /AGENTFLEET_ROLES: .*one role; name one of Planner/],
    ['two roles of Builtin', { ...builtin, AGENTFLEET_ROLES: 'Verifier,Policy' }, /AGENTFLEET_ROLES: .*one role/],
    [
      'an artifact of nobody',
      { ...builtin, AGENTFLEET_ARTIFACT: 'other-v2' },
      /AGENTFLEET_ARTIFACT: there is no builtin:\/\/other-v2 for the role Verifier; there is/,
    ],
    ['an artifact of another role', { ...builtin, AGENTFLEET_ARTIFACT: 'policy-v1' }, /AGENTFLEET_ARTIFACT: there is no/],
    ['a digest that is none', { ...builtin, AGENTFLEET_ARTIFACT_DIGEST: 'abc' }, /AGENTFLEET_ARTIFACT_DIGEST: "abc" is not a digest/],
    ['a head of nobody', { ...builtin, AGENTFLEET_HEADS: 'Code=1,Tail=2' }, /AGENTFLEET_HEADS: "Tail=2" is not HEAD=WEIGHT/],
    ['a weight below 0', { ...builtin, AGENTFLEET_LAMBDA: '-1' }, /AGENTFLEET_LAMBDA: "-1" is not a decimal number/],
    [
      'weights of a verifier for a planner',
      { ...builtin, AGENTFLEET_ROLES: 'Planner', AGENTFLEET_LAMBDA: '1' },
      /AGENTFLEET_LAMBDA: the role is not Verifier/,
    ],
    [
      'threads that nobody uses',
      { AGENTFLEET_THREADS: '2' },
      /AGENTFLEET_THREADS: the engine is not Llama; set AGENTFLEET_ENGINE=Llama or remove it/,
    ],
  ])('refuses %s', (_name, env, reported) => {
    expect(() => readConfig(env)).toThrow(reported);
  });
});
