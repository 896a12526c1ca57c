import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { GatewayModel } from '@agentfleet/protocol/gateway';
import { Stage } from './harness.ts';
import { FakeProvider } from './provider.ts';

/** A provider for the tests of a file, and a stage that each of them gets anew; with a model it has started in front of the provider. */
export function staging(model?: (stage: Stage) => Partial<GatewayModel>): { readonly provider: FakeProvider; readonly stage: Stage } {
  const [provider, stage] = [new FakeProvider(), new Stage()];
  beforeAll(() => provider.start());
  afterAll(() => provider.stop());
  beforeEach(async () => {
    await stage.begin();
    if (model === undefined) return;
    await stage.models({ baseURLs: [provider.url], ...model(stage) });
    await stage.start();
  });
  afterEach(() => stage.close());
  return { provider, stage };
}
