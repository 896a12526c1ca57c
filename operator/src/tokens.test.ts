import { silentLog, type Transport } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import { describe, expect, it } from 'vitest';
import { ClusterTokens } from './start.ts';

interface Answers {
  issuer: unknown;
  keys: unknown;
}

function tokensOf(answers: Answers, clock = new VirtualClock()): ClusterTokens {
  const request = <T>({ path }: { readonly path: string }): Promise<T> =>
    Promise.resolve((path === '/openid/v1/jwks' ? { keys: answers.keys } : { issuer: answers.issuer }) as T);
  const transport: Transport = { host: 'h', request, stream: () => Promise.reject(new Error('none')), close: () => Promise.resolve() };
  return new ClusterTokens({ transport, clock, log: silentLog });
}

describe('ClusterTokens', () => {
  it('reports issuer and keys, and nothing before they were read', async () => {
    const tokens = tokensOf({ issuer: 'https://issuer', keys: [{ use: 'sig', kid: 'a' }] });
    expect(() => tokens.issuer()).toThrow('refresh');
    expect(() => tokens.jwks()).toThrow('refresh');
    await tokens.refresh();
    expect(tokens.issuer()).toBe('https://issuer');
    expect(tokens.jwks()).toBe('{"keys":[{"kid":"a","use":"sig"}]}');
  });

  it.each([
    ['no issuer', { issuer: undefined, keys: [{}] }],
    ['no keys', { issuer: 'https://issuer', keys: [] }],
    ['no list of keys', { issuer: 'https://issuer', keys: undefined }],
  ])('refuses %s, and keeps what it knew', async (_, bad) => {
    const answers: Answers = { issuer: 'https://issuer', keys: [{ kid: 'a' }] };
    const tokens = tokensOf(answers);
    await tokens.refresh();
    Object.assign(answers, bad);
    await expect(tokens.refresh()).rejects.toThrow('publishes no token issuer');
    expect(tokens.jwks()).toBe('{"keys":[{"kid":"a"}]}');
  });

  it('reads again every five minutes, and reports changes alone', async () => {
    const clock = new VirtualClock();
    const answers: Answers = { issuer: 'https://issuer', keys: [{ kid: 'a' }] };
    const tokens = tokensOf(answers, clock);
    await tokens.refresh();
    let reported = 0;
    const end = tokens.onChange(() => (reported += 1));
    const abort = new AbortController();
    const running = tokens.run(abort.signal);
    await clock.advance(300_000);
    expect(reported).toBe(0);
    answers.keys = [{ kid: 'a' }, { kid: 'b' }];
    await clock.advance(300_000);
    expect([reported, tokens.jwks()]).toEqual([1, '{"keys":[{"kid":"a"},{"kid":"b"}]}']);
    answers.keys = [];
    await clock.advance(300_000);
    end();
    answers.keys = [{ kid: 'c' }];
    await clock.advance(300_000);
    expect([reported, tokens.jwks()]).toEqual([1, '{"keys":[{"kid":"c"}]}']);
    abort.abort();
    await running;
  });
});
