import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { builtinRoles, capabilityOf } from '@agentfleet/protocol/inference';
import { readConfig } from '../../base/config.ts';
import { createServer, type Server } from '../../capabilities/server.ts';
import { createLog } from '@agentfleet/protocol/log';
import { createEngine } from '../index.ts';
import type { ServedEngine } from '../../base/served.ts';

const now = (): number => 0;
const digest = `sha256:${'0'.repeat(64)}`;

function load(env: Readonly<Record<string, string>>): Promise<ServedEngine> {
  return createEngine(
    readConfig({ AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None', ...env }),
    now,
    () => undefined,
  );
}

function serve(engine: ServedEngine): Server {
  const config = { version: '1', roles: engine.roles, queueLimit: 8, batchLimit: 4 };
  return createServer({ config, engine, logger: createLog('silent', () => undefined, now), now, pause: () => Promise.resolve() });
}

describe.each(builtinRoles)('the engine Builtin as %s', (role) => {
  it('answers its example with the weights of the repository', async () => {
    const engine = await load({ AGENTFLEET_ROLES: role });
    const { info, readiness } = serve(engine);
    expect(info).toMatchObject({ engine: 'Builtin', roles: [role], capabilities: [capabilityOf[role]], learned: true });
    expect(await readiness.check()).toBeNull();
    await engine.close();
  });

  it('refuses another artifact than the one that is asked for', async () => {
    const wrong = load({ AGENTFLEET_ROLES: role, AGENTFLEET_ARTIFACT_DIGEST: digest });
    await expect(wrong).rejects.toThrow(/AGENTFLEET_ARTIFACT_DIGEST: builtin:\/\/\S+ has the digest sha256:[0-9a-f]{64}, not sha256:0+; /);
  });

  it('reports which weights are missing, and where to get them', async () => {
    const missing = load({ AGENTFLEET_ROLES: role, AGENTFLEET_WEIGHTS: '/nowhere' });
    await expect(missing).rejects.toThrow(/AGENTFLEET_WEIGHTS: \/nowhere\/\S+ cannot be read \(ENOENT\); use the image/);
  });
});

describe('the verifier', () => {
  it('accepts the digest of sha256sum, and has another identity with other weights', async () => {
    const file = await readFile(join(import.meta.dirname, '../../../weights/energy-features-v3.json'));
    const AGENTFLEET_ARTIFACT_DIGEST = `sha256:${createHash('sha256').update(file).digest('hex')}`;
    const env = { AGENTFLEET_ROLES: 'Verifier', AGENTFLEET_ARTIFACT_DIGEST };
    const [one, other] = [await load(env), await load({ ...env, AGENTFLEET_HEADS: 'Shell=2' })];
    expect(one.about).toMatchObject({ artifactDigest: AGENTFLEET_ARTIFACT_DIGEST, lambdaCode: 0.7, lambdaShell: 1.2 });
    expect(other.about).toMatchObject({ artifactDigest: AGENTFLEET_ARTIFACT_DIGEST, lambdaCode: 0.7, lambdaShell: 2 });
    expect(one.modelDigest).not.toBe(other.modelDigest);
  });
});
