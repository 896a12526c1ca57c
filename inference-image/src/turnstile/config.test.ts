import { ConfigError } from '@agentfleet/protocol/environment';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { readAwaitTurn, readTurnstile } from './config.ts';

const member = {
  AGENTFLEET_TURNSTILE: 'http://turns.fleet.svc:7090',
  AGENTFLEET_TURN_ITEM: 'core.1a2b',
  AGENTFLEET_POD_NAME: 'core-0',
  AGENTFLEET_POD_IP: '10.0.0.7',
};
const access = {
  AGENTFLEET_ISSUER: 'https://cluster.test',
  AGENTFLEET_AUDIENCE: 'agentfleet-experts:fleet',
  AGENTFLEET_CALLERS: 'system:serviceaccount:fleet:*',
};
const server = { ...access, AGENTFLEET_ENGINE: 'VLLM', AGENTFLEET_UPSTREAM: 'http://127.0.0.1:8000', AGENTFLEET_MODEL: 'core' };

describe('the environment of turns', () => {
  test('has a place to listen, and times', () => {
    const { listen, times } = readTurnstile({ ...access, AGENTFLEET_TURN_SECONDS: '7', AGENTFLEET_LOAD_SECONDS: '90' });
    expect([listen, times.turnMs, times.loadMs]).toEqual([{ host: '::', port: 7090 }, 7_000, 90_000]);
  });

  test('says who a member is, with brackets around an address of IPv6', () => {
    const { turnstile, self } = readAwaitTurn(member);
    expect([turnstile, self]).toEqual([member.AGENTFLEET_TURNSTILE, { item: 'core.1a2b', pod: 'core-0', engine: 'http://10.0.0.7:8000' }]);
    expect(readAwaitTurn({ ...member, AGENTFLEET_POD_IP: 'fd00::7' }).self.engine).toBe('http://[fd00::7]:8000');
    const { engine } = readConfig({ ...server, ...member, AGENTFLEET_UPSTREAM: 'http://127.0.0.1:8123' });
    expect(engine).toMatchObject({ turns: { turnstile, self: { ...self, engine: 'http://10.0.0.7:8123' } } });
    expect(readConfig(server).engine).toMatchObject({ turns: null });
  });

  test.each([
    ['no turnstile', { AGENTFLEET_TURNSTILE: '' }, /AGENTFLEET_TURNSTILE: it is missing; set it in the pod/],
    ['a path', { AGENTFLEET_TURNSTILE: 'http://turns/x' }, /AGENTFLEET_TURNSTILE: "http:\/\/turns\/x" is not an origin; write http/],
    ['no item', { AGENTFLEET_TURN_ITEM: '' }, /AGENTFLEET_TURN_ITEM: it is missing/],
    ['no name', { AGENTFLEET_POD_NAME: 'Core 0' }, /AGENTFLEET_POD_NAME: "Core 0" is not a name; write lower-case/],
    ['no address', { AGENTFLEET_POD_IP: 'core' }, /AGENTFLEET_POD_IP: "core" is not an IP address; take status\.podIP/],
  ])('is refused with a cure: %s', (_what, wrong, words) => {
    expect(() => readAwaitTurn({ ...member, ...wrong })).toThrow(ConfigError);
    expect(() => readAwaitTurn({ ...member, ...wrong })).toThrow(words);
  });

  test.each([
    ['sleep of its own', { ...member, AGENTFLEET_SLEEP_AFTER_SECONDS: '5' }, /AGENTFLEET_SLEEP_AFTER_SECONDS: the turnstile says when/],
    ['an item without a turnstile', { AGENTFLEET_TURN_ITEM: 'core' }, /AGENTFLEET_TURN_ITEM: nobody gives turns; set AGENTFLEET_TURNSTILE/],
    ['a member without a name', { ...member, AGENTFLEET_POD_NAME: '' }, /AGENTFLEET_POD_NAME: it is missing/],
  ])('of a server is refused with a cure: %s', (_what, more, words) => {
    expect(() => readConfig({ ...server, ...more })).toThrow(words);
  });

  test('belongs to engines of vLLM', () => {
    expect(() => readConfig({ AGENTFLEET_ENGINE: 'Synth', ...member })).toThrow(/AGENTFLEET_TURNSTILE: the engine is not VLLM; set/);
    expect(() => readTurnstile({ AGENTFLEET_TURN_SECONDS: 'long' })).toThrow(/AGENTFLEET_TURN_SECONDS: "long" is not a number/);
  });
});
