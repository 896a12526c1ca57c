import { createTransport, ResourceClient, silentLog, systemClock } from '@agentfleet/kube';
import { startFakeServer, VirtualClock } from '@agentfleet/kube/testing';
import { metricsAudience, operatorMetricsAudience } from '@agentfleet/protocol/tokens';
import { issuer, Signer, type TokenSpec } from '@agentfleet/protocol/tokens/testing';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { Bed, testConfig } from '../controllers/expertpool/testing/bed.ts';
import { resources } from '../runtime/resources.ts';
import { authorizeReaders, scraperAccount, ScraperTokens } from './scraperTokens.ts';

const scraper = 'system:serviceaccount:monitoring:prometheus';
let signer: Signer;
beforeAll(async () => {
  signer = await Signer.create();
});

describe('metrics of the operator', () => {
  it('are for readers with a token for them, by the keys that it read last', async () => {
    let jwks = JSON.stringify(await signer.jwks());
    const tokens = { issuer: () => issuer, jwks: () => jwks, onChange: () => () => {} };
    const authorize = authorizeReaders(tokens, [scraper], systemClock);
    const status = async (spec: TokenSpec = {}, by = signer): Promise<number | undefined> => {
      const token = await by.token(operatorMetricsAudience, { subject: scraper, ...spec });
      return (await authorize(`Bearer ${token}`))?.status;
    };
    expect(await status()).toBeUndefined();
    expect((await authorize(undefined))?.status).toBe(401);
    expect(await status({ expires: 1_000_000 })).toBe(401);
    // What is sent to every pod that is labelled like one of ours opens nothing here.
    expect(await status({ audience: metricsAudience })).toBe(401);
    expect(await status({ subject: 'system:serviceaccount:team:default' })).toBe(403);
    const next = await Signer.create('key-2');
    expect(await status({}, next)).toBe(401);
    jwks = JSON.stringify(await next.jwks());
    expect([await status({}, next), await status()]).toEqual([undefined, 401]);
  });

  it('are refused by the process to whoever has none', async () => {
    await using bed = await Bed.start();
    void bed.startOperator('operator-0_1', { ...testConfig, authentication: 'Tokens' }).catch(() => {});
    await bed.until('its ports are open', () => bed.operator?.manager.ports.length === 2);
    const [probes = 0, metrics = 0] = bed.operator?.manager.ports ?? [];
    const answer = await fetch(`http://127.0.0.1:${metrics}/metrics`);
    expect([answer.status, await answer.text()]).toEqual([401, 'token refused: the request has no Authorization header\n']);
    expect((await fetch(`http://127.0.0.1:${probes}/healthz`)).status).toBe(200);
  });
});

describe('the tokens of scrapers', () => {
  it('are written to their Secret, one for each audience, and renewed before they end', async () => {
    const name = { namespace: 'agentfleet-system', name: 'agentfleet-metrics-tokens' };
    const clock = new VirtualClock();
    const token = (_: object, body: { readonly spec?: unknown }): Record<string, unknown> => {
      const [audience] = (body.spec as { readonly audiences: readonly string[] }).audiences;
      return { status: { token: `${audience} at ${clock.now()}`, expirationTimestamp: new Date(clock.now() + 3_600_000).toISOString() } };
    };
    const server = await startFakeServer({
      kinds: [{ resource: resources.serviceAccounts, subresources: { token } }, { resource: resources.secrets }],
    });
    server.createNamespace(name.namespace);
    const transport = createTransport(server.config, { userAgent: 'test' });
    await new ResourceClient(transport, resources.serviceAccounts).create({ metadata: { ...name, name: scraperAccount } });
    await new ResourceClient(transport, resources.secrets).create({ metadata: name });
    const stop = new AbortController();
    const began = clock.now();
    const running = new ScraperTokens({ transport, ...name, secret: name.name, clock, log: silentLog }).run(stop.signal);
    const written = (): unknown => (server.objects(resources.secrets)[0] as { readonly stringData?: unknown } | undefined)?.stringData;
    const at = (time: number) => ({ operator: `${operatorMetricsAudience} at ${time}`, pools: `${metricsAudience} at ${time}` });
    const writes = (): number => server.writes.filter(({ resource }) => resource.startsWith('secrets')).length;
    await vi.waitFor(() => expect(written()).toEqual(at(began)));
    const before = writes() - 1;
    for (let round = 1; round <= 5; round += 1) {
      await clock.advance(600_000);
      await vi.waitFor(() => expect(writes()).toBe(before + 1 + round));
    }
    // Of a life of an hour.
    expect(written()).toEqual(at(began + 3_000_000));
    stop.abort();
    await running;
    await Promise.all([transport.close(), server.close()]);
  });
});
