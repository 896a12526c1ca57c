import { describe, expect, it } from 'vitest';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './config.ts';

const env = {
  POD_NAME: 'worker-0',
  POD_NAMESPACE: 'platform',
  POD_UID: 'u1',
  AGENTFLEET_SERVICE_ACCOUNT: 'coding-worker',
  AGENTFLEET_POOL_CONFIGMAP: 'coding-brief',
  AGENTFLEET_ISSUER: 'https://kubernetes.default.svc',
};

describe('the environment of a worker', () => {
  it('is read with its defaults', () => {
    expect(readConfig(env)).toMatchObject({
      pod: { name: 'worker-0', namespace: 'platform', uid: 'u1' },
      serviceAccount: 'coding-worker',
      brief: 'coding-brief',
      concurrency: 8,
      port: 7090,
      tokenFile: null,
      access: { issuer: 'https://kubernetes.default.svc' },
      version: '0.0.0-dev',
      logLevel: 'info',
    });
    expect(readConfig({ ...env, AGENTFLEET_CONCURRENCY: '3', LOG_LEVEL: 'debug' })).toMatchObject({ concurrency: 3, logLevel: 'debug' });
  });

  it('reports all faults at once, each with its variable and a cure', () => {
    const read = (): unknown =>
      readConfig({ ...env, POD_NAME: '', POD_UID: undefined, AGENTFLEET_CONCURRENCY: 'many', AGENTFLEET_PORT: '70000', LOG_LEVEL: 'loud' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(
      /POD_NAME: it is missing; set it.*POD_UID: it is missing.*AGENTFLEET_CONCURRENCY: "many".*1 to 64.*AGENTFLEET_PORT: "70000".*LOG_LEVEL: "loud"/s,
    );
  });

  it.for(['0', '65', '1.5', '-1'])('refuses %s tasks at a time', (count) => {
    expect(() => readConfig({ ...env, AGENTFLEET_CONCURRENCY: count })).toThrow('AGENTFLEET_CONCURRENCY');
  });
});
