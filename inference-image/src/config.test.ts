import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from './config.ts';

describe('the configuration', () => {
  it('needs nothing: Synth on port 7080', () => {
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
      AGENTFLEET_ENGINE: 'Magic',
      AGENTFLEET_ROLES: 'Generalist,King',
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
});
